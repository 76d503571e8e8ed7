/** Preferences of the reader, kept in this browser. */

export type Theme = 'system' | 'light' | 'dark';
export type Language = 'en' | 'de';
export type TimeStyle = 'relative' | 'absolute';

export interface Preferences {
  readonly theme: Theme;
  readonly language: Language;
  readonly times: TimeStyle;
  /** Whether long lines of a log are wrapped. */
  readonly wrapLines: boolean;
}

const KEY = 'workbench-preferences';

/** Preferences as they were chosen; the language of the browser, and the theme of the system, where none was. */
export function readPreferences(): Preferences {
  const stored = storedPreferences();
  return {
    theme: oneOf(stored['theme'], ['system', 'light', 'dark']) ?? 'system',
    language: oneOf(stored['language'], ['en', 'de']) ?? (/^de\b/i.test(navigator.language) ? 'de' : 'en'),
    times: oneOf(stored['times'], ['relative', 'absolute']) ?? 'relative',
    wrapLines: stored['wrapLines'] === true,
  };
}

export function writePreferences(preferences: Preferences): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(preferences));
  } catch {
    // A browser that keeps nothing: the choice lasts as long as the page.
  }
}

/** Has the page show them: its theme by a stylesheet, its language to assistive technology. */
export function applyPreferences({ theme, language }: Preferences): void {
  const { documentElement } = document;
  documentElement.lang = language;
  if (theme === 'system') documentElement.removeAttribute('data-theme');
  else documentElement.dataset['theme'] = theme;
}

function storedPreferences(): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function oneOf<T extends string>(value: unknown, allowed: readonly T[]): T | undefined {
  return allowed.find((each) => each === value);
}
