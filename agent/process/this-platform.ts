import { linux } from './linux.js';
import type { Platform } from './platform.js';
import { portable } from './portable.js';

/** The system on which this agent runs. */
export const thisPlatform: Platform = process.platform === 'linux' ? linux : portable;
