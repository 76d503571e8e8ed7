/** The console: one page for the paths of all screens, and its files, which browsers keep for good. */
import { createHash } from 'node:crypto';
import type { Context, Handler } from 'hono';
import type { Encoding, Site, SiteFile } from './site.js';

/** Only what the hub serves is loaded, nothing inline is run, and no other page can frame or be sent a form. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "connect-src 'self' blob:",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const FOR_GOOD = 'public, max-age=31536000, immutable';

/** Beginnings of the paths that programs ask for: nothing at these is a screen. */
const PATHS_OF_PROGRAMS = /^\/(?:api|actuator|agent|assets)(?:\/|$)/;

/** Whether a browser asks for a page, by its address field or by a link. */
export function isPageRequest({ req }: Context): boolean {
  const accepts = req.header('accept') ?? '';
  return req.method === 'GET' && accepts.includes('text/html') && !PATHS_OF_PROGRAMS.test(req.path);
}

/** Response to a browser at an address where nothing is: the console, which says so in the words of its reader. */
export function unknownPage({ page }: Site, context: Context): Response {
  return context.body(page, 404, pageHeaders);
}

const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': CONTENT_SECURITY_POLICY,
  // Asked for each time, so that a browser sees a new version of the hub.
  'cache-control': 'no-cache',
};

/** Adds the routes of the console. */
export function serveConsole(site: Site, get: (path: string, handler: Handler) => void): void {
  const etag = `"${createHash('sha256').update(site.page).digest('base64url').slice(0, 22)}"`;
  const headers = { ...pageHeaders, etag };
  const page: Handler = (context) =>
    context.req.header('if-none-match') === etag
      ? context.body(null, 304, headers)
      : context.body(site.page, 200, headers);
  for (const path of site.pages) get(path, page);
  for (const file of site.files) {
    get(`/assets/${file.name}`, async (context) => {
      const encoding = encodingFor(context, file);
      return context.body(await site.read(file.name, encoding), 200, {
        'content-type': file.type,
        'cache-control': FOR_GOOD,
        vary: 'accept-encoding',
        ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
      });
    });
  }
}

/** The first encoding of the file that the client accepts. */
function encodingFor({ req }: Context, { encodings }: SiteFile): Encoding | undefined {
  const accepted = new Map(
    (req.header('accept-encoding') ?? '').split(',').map((part) => {
      const [name = '', weight = ''] = part.split(';');
      return [name.trim().toLowerCase(), !/^\s*q=0(?:\.0*)?\s*$/.test(weight)];
    }),
  );
  return encodings.find((encoding) => accepted.get(encoding) ?? accepted.get('*') ?? false);
}
