/** Kinds of jobs that instances run, in words. */
import type { WorkbenchInstance } from '@workbench-hub/client';

export type JobKind = NonNullable<WorkbenchInstance['runs']>;

const en = {
  models: (types: string) => `models of type ${types}`,
  anyModels: 'models of any type',
  noModels: 'no models',
  scripts: (languages: string) => `scripts in ${languages}`,
  noScripts: 'no scripts',
};

const WORDS: Readonly<Record<'en' | 'de', typeof en>> = {
  en,
  de: {
    models: (types) => `Modelle vom Typ ${types}`,
    anyModels: 'Modelle jeden Typs',
    noModels: 'keine Modelle',
    scripts: (languages) => `Skripte in ${languages}`,
    noScripts: 'keine Skripte',
  },
};

/** `models of type MJCF, XML, scripts in JavaScript` */
export function kindText({ models, scripts }: JobKind, language: 'en' | 'de'): string {
  const words = WORDS[language];
  const ofModels =
    models === undefined
      ? words.anyModels
      : models.length === 0
        ? words.noModels
        : words.models(models.join(', '));
  if (scripts === undefined) return ofModels;
  return `${ofModels}, ${scripts.length === 0 ? words.noScripts : words.scripts(scripts.join(', '))}`;
}
