/** The system of an agent and its kind of installation, in words. */
import type { AgentState } from '@workbench-hub/client';

type Language = 'en' | 'de';
type Told = Pick<AgentState, 'operatingSystem' | 'architecture' | 'installation'>;

const SYSTEMS: Readonly<Record<NonNullable<Told['operatingSystem']>, string>> = {
  aix: 'AIX',
  freebsd: 'FreeBSD',
  linux: 'Linux',
  macos: 'macOS',
  openbsd: 'OpenBSD',
  sunos: 'SunOS',
  windows: 'Windows',
};

const en = {
  unknownSystem: 'unknown system',
  unknown: 'unknown installation',
  kinds: {
    FILE: 'one file',
    NPM: 'npm',
    DEBIAN: 'Debian package',
    CONTAINER: 'container',
    CHECKOUT: 'from the sources',
  },
};

const WORDS: Readonly<Record<Language, typeof en>> = {
  en,
  de: {
    unknownSystem: 'System unbekannt',
    unknown: 'Installation unbekannt',
    kinds: {
      FILE: 'eine Datei',
      NPM: 'npm',
      DEBIAN: 'Debian-Paket',
      CONTAINER: 'Container',
      CHECKOUT: 'aus den Quellen',
    },
  },
};

/** `Windows x64` */
export function systemText({ operatingSystem, architecture }: Told, language: Language): string {
  if (operatingSystem === undefined) return WORDS[language].unknownSystem;
  // A hub of a later version may know more systems.
  const name = SYSTEMS[operatingSystem] ?? operatingSystem;
  return architecture === undefined ? name : `${name} ${architecture}`;
}

/** `Debian package` */
export function installationText({ installation }: Told, language: Language): string {
  const { kinds, unknown } = WORDS[language];
  return installation === undefined ? unknown : (kinds[installation] ?? installation);
}
