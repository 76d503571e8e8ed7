/**
 * Runs before the first paint, so that a chosen theme or language does not flash in after the default one, and so early that what the
 * screen of the address needs is on its way while the main script still is.
 */
import { applyPreferences, readPreferences } from './base/preferences.js';
import { type ScreenFile, screenAt } from './paths.js';
import { readLoginMethod } from './session/login-method.js';

/** Names of the files of each screen, put in by the build. */
declare const PARTS_OF_SCREENS: Readonly<Partial<Record<ScreenFile, readonly string[]>>>;

function preload(attributes: Readonly<Record<string, string>>): void {
  const link = document.createElement('link');
  for (const [name, value] of Object.entries(attributes)) link.setAttribute(name, value);
  document.head.append(link);
}

applyPreferences(readPreferences());
const file = screenAt(location.pathname);
const parts = file === undefined ? [] : (PARTS_OF_SCREENS[file] ?? []);
for (const part of parts) preload({ rel: 'modulepreload', href: `/assets/${part}` });
// The first request of a session in a browser in which nobody has logged in.
if (file !== undefined && readLoginMethod() === undefined)
  preload({ rel: 'preload', as: 'fetch', crossorigin: 'anonymous', href: '/api/x/sign-on' });
