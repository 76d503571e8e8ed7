import { readFileSync } from 'node:fs';
import { getAsset, isSea } from 'node:sea';
import type { InstallationKind } from '../domain/installation.js';

/** Identity of this build; `npm run build` writes it beside the compiled files, `npm run package` into the single file. */
export interface BuildInfo {
  readonly version: string;
  /** Short commit, or "unknown" for a build outside a checkout. */
  readonly revision: string;
  /** `2022-05-27T13:50:08.523+0100` */
  readonly buildDate: string;
  readonly vendor: string;
}

/** A build with the kind of its package. */
interface PackagedBuild extends BuildInfo {
  /** `npm run build` says CHECKOUT, and `npm run package` what it makes. */
  readonly installation: InstallationKind;
}

export const buildInfo: PackagedBuild = JSON.parse(
  isSea()
    ? getAsset('build-info.json', 'utf8')
    : readFileSync(new URL('../build-info.json', import.meta.url), 'utf8'),
) as PackagedBuild;
