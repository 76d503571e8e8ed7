import { readFileSync } from 'node:fs';

/** Identity of this build; `npm run build` writes it beside the compiled files. */
export interface BuildInfo {
  readonly version: string;
  /** Short commit, or "unknown" for a build outside a checkout. */
  readonly revision: string;
  /** `2022-05-27T13:50:08.523+0100` */
  readonly buildDate: string;
  readonly vendor: string;
}

export const buildInfo: BuildInfo = JSON.parse(
  readFileSync(new URL('../build-info.json', import.meta.url), 'utf8'),
) as BuildInfo;
