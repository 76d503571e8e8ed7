import { buildInfo } from '../runtime/build-info.js';
import type { Clock } from '../runtime/runtime.js';
import { type Finding, fault } from './finding.js';

/** Fault of a clock that is certainly wrong, since it shows a time before this build. */
export function checkBuildTime(clock: Clock): Finding[] {
  const builtAtMs = Date.parse(buildInfo.buildDate.replace(/([+-]\d\d)(\d\d)$/, '$1:$2'));
  if (!(clock.nowMs() < builtAtMs)) return [];
  const now = new Date(clock.nowMs()).toISOString();
  return [fault('clock', `it shows ${now}, before this program was built`, 'set the clock of this machine')];
}
