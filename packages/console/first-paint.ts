/** Runs before the first paint, so that a chosen theme or language does not flash in after the default one. */
import { applyPreferences, readPreferences } from './data/preferences.js';

applyPreferences(readPreferences());
