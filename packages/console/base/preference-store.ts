import { applyPreferences, type Preferences, readPreferences, writePreferences } from './preferences.js';
import { Store, useStore } from './store.js';

const preferences = new Store<Preferences>(readPreferences());

/** The present preferences, and what changes some of them. */
export function usePreferences(): [Preferences, (change: Partial<Preferences>) => void] {
  return [useStore(preferences), changePreferences];
}

export function changePreferences(change: Partial<Preferences>): void {
  const changed = { ...preferences.get(), ...change };
  writePreferences(changed);
  applyPreferences(changed);
  preferences.set(changed);
}

// Another tab has changed them.
window.addEventListener('storage', () => {
  const changed = readPreferences();
  applyPreferences(changed);
  preferences.set(changed);
});
