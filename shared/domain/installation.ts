/** How an agent was installed, and the system that it runs on. */

/** Kinds of installation. FILE: the single executable file. NPM: the tarball for npm. DEBIAN: the Debian package. CONTAINER: the
 *  container image. CHECKOUT: built in a clone of the sources. */
export const INSTALLATION_KINDS = ['FILE', 'NPM', 'DEBIAN', 'CONTAINER', 'CHECKOUT'] as const;
export type InstallationKind = (typeof INSTALLATION_KINDS)[number];

export const OPERATING_SYSTEMS = ['aix', 'freebsd', 'linux', 'macos', 'openbsd', 'sunos', 'windows'] as const;
export type OperatingSystem = (typeof OPERATING_SYSTEMS)[number];

export const ARCHITECTURES = ['arm', 'arm64', 'ia32', 'loong64', 'ppc64', 'riscv64', 's390x', 'x64'] as const;
export type Architecture = (typeof ARCHITECTURES)[number];

/** An installation; null stands for a value that nobody told, or that this build does not know. */
export interface Installation {
  readonly kind: InstallationKind | null;
  readonly os: OperatingSystem | null;
  readonly arch: Architecture | null;
}

/** The installation of an agent that does not tell it. */
export const UNKNOWN_INSTALLATION: Installation = { kind: null, os: null, arch: null };

/** An installation as another program tells it, which may have values of a later version. */
export type ToldInstallation = { readonly [Part in keyof Installation]?: string | null | undefined };

/** The told installation without the values that this build does not know. */
export function knownInstallation({ kind, os, arch }: ToldInstallation): Installation {
  return {
    kind: knownOf(INSTALLATION_KINDS, kind),
    os: knownOf(OPERATING_SYSTEMS, os),
    arch: knownOf(ARCHITECTURES, arch),
  };
}

/** Names that Node.js has for systems which others name differently. */
const NAMES_OF_NODE: Readonly<Record<string, OperatingSystem>> = { win32: 'windows', darwin: 'macos' };

/** The installation of a program, from the platform and the architecture as Node.js names them. */
export function installationOn(
  kind: InstallationKind | null,
  { platform, arch }: { readonly platform: string; readonly arch: string },
): Installation {
  return knownInstallation({ kind, os: NAMES_OF_NODE[platform] ?? platform, arch });
}

const LABEL_OF_PLATFORM = /^(?:os|arch):/i;

/** Labels that tell the system of a host: `os:windows`, `arch:x64`. */
export function platformLabels({ os, arch }: Pick<Installation, 'os' | 'arch'>): string[] {
  return [...(os ? [`os:${os}`] : []), ...(arch ? [`arch:${arch}`] : [])];
}

/** Whether a label is told as {@link platformLabels} are, but tells another system than this one. */
export function contradictsPlatform(label: string, platform: Pick<Installation, 'os' | 'arch'>): boolean {
  return LABEL_OF_PLATFORM.test(label) && !platformLabels(platform).includes(label.toLowerCase());
}

function knownOf<Value extends string>(
  values: readonly Value[],
  told: string | null | undefined,
): Value | null {
  return values.find((value) => value === told) ?? null;
}
