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

/** Adds the routes of the console. */
export function serveConsole(site: Site, get: (path: string, handler: Handler) => void): void {
  const etag = `"${createHash('sha256').update(site.page).digest('base64url').slice(0, 22)}"`;
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': CONTENT_SECURITY_POLICY,
    // Asked for each time, so that a browser sees a new version of the hub.
    'cache-control': 'no-cache',
    etag,
  };
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
