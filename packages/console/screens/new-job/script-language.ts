/** Language of a script: the program that runs it. */

/** Programs that a `#!` line of ours may name, by endings of script names. `own`: the instance runs it with its own program. */
const PROGRAM_OF: Readonly<Record<string, ScriptProgram>> = {
  py: 'python3',
  sh: 'sh',
  bash: 'bash',
  pl: 'perl',
  rb: 'ruby',
  r: 'Rscript',
  jl: 'julia',
  lua: 'lua',
};

export const PROGRAMS = [
  'own',
  'node',
  'python3',
  'sh',
  'bash',
  'perl',
  'ruby',
  'Rscript',
  'julia',
  'lua',
] as const;
export type ScriptProgram = (typeof PROGRAMS)[number];

/** Bytes from the beginning of a script in which its `#!` line is looked for. */
export const FIRST_LINE_BYTES = 256;

/** The program that most likely runs a script of this name, if it has no `#!` line. */
export function likelyProgram(path: string): ScriptProgram {
  const ending = /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase();
  return (ending === undefined ? undefined : PROGRAM_OF[ending]) ?? 'own';
}

/** Interpreter that the first line of a script names after `#!`; undefined without such a line. */
export function interpreterIn(text: string): string | undefined {
  return /^#![ \t]*([^\r\n]*\S)/.exec(text)?.[1];
}

/** The `#!` line with which this program runs a script; empty for the instance's own. */
export function firstLineFor(program: ScriptProgram): string {
  return program === 'own' ? '' : `#!/usr/bin/env ${program}\n`;
}

/** The script, with a first line for this program unless it has one of its own. */
export async function scriptFor(content: Blob, program: ScriptProgram): Promise<Blob> {
  const line = firstLineFor(program);
  if (line === '') return content;
  const start = await content.slice(0, FIRST_LINE_BYTES).text();
  return interpreterIn(start) === undefined ? new Blob([line, content]) : content;
}
