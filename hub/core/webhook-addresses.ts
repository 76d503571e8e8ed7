/** Addresses of webhooks, and those that a task may name for its end. */
import type { NotifyAddress } from './task.js';

/** Longest address. */
const MAX_ADDRESS_LENGTH = 2000;

export const ADDRESS_ALLOWED =
  'an address such as https://ci.example.org/hooks/hub, without user name and fragment';

/** Parts of a path that could mean another path to a receiver than to the hub: encoded slashes, also encoded twice, and steps up
 *  with a parameter. */
const AMBIGUOUS = /%(?:25)*(?:2f|5c)|%(?:25)+2e|\/(?:\.|%2e){1,2};/i;

/** The address in its usual form; undefined when it is none that a webhook may have. */
export function webhookAddress(text: string): URL | undefined {
  if (text.length > MAX_ADDRESS_LENGTH || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  const isPlain = url.username === '' && url.password === '' && url.hash === '' && !text.includes('#');
  return /^https?:$/.test(url.protocol) && isPlain && !AMBIGUOUS.test(url.pathname) ? url : undefined;
}

/** Whether the address has the origin of `allowed`, and its path or one below it. */
export function isWithin(url: URL, allowed: URL): boolean {
  if (url.origin !== allowed.origin) return false;
  const folder = allowed.pathname.endsWith('/') ? allowed.pathname : `${allowed.pathname}/`;
  return url.pathname === allowed.pathname || url.pathname.startsWith(folder);
}

/** A valid address that a task names, in its usual form. */
export function notifyAddress(text: string): NotifyAddress {
  const { href, origin } = new URL(text);
  return { url: href, receiver: `${origin}#${partOf(href)}` };
}

/** Receiver of a webhook of the configuration, which no address of a task shares. */
export function configuredReceiver(name: string, url: string): string {
  return `${new URL(url).origin}#${name}`;
}

/** Origin of a receiver, as users see it. */
export function originOf(receiver: string): string {
  return receiver.split('#', 1)[0] as string;
}

/** Parts into which the addresses of an origin are divided: one that is down holds up none of another part, and users cannot make many
 *  receivers. */
const PARTS = 64;

function partOf(href: string): number {
  let hash = 0;
  for (let at = 0; at < href.length; at++) hash = (Math.imul(hash, 31) + href.charCodeAt(at)) >>> 0;
  return hash % PARTS;
}
