import { parseArgs } from 'node:util';

export const USAGE = `workbench-runner: runs the scripts of simulation jobs, one process per script

Usage: workbench-runner [--interpreter <command>]

An agent starts it as an instance (\`command\` in the instance's configuration) and talks to it over standard
input and output, as packages/docs/instance-protocol.md describes. Standard error is its log.

Options:
  --interpreter <command>  what runs a script that has no #! line: node (default), python3, sh, or any
                           command with arguments, such as "octave-cli --quiet"
  --version                print the version and exit
  --help                   print this and exit
`;

export type CommandLine =
  | { kind: 'help' }
  | { kind: 'version' }
  | { kind: 'serve'; interpreter: string[] }
  | { kind: 'refused'; message: string };

/** Parses the arguments of `workbench-runner`; `refused` carries the error. */
export function readCommandLine(args: string[]): CommandLine {
  try {
    const { values } = parseArgs({
      args,
      options: {
        interpreter: { type: 'string', default: 'node' },
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean' },
      },
    });
    if (values.help) return { kind: 'help' };
    if (values.version) return { kind: 'version' };
    const interpreter = splitWords(values.interpreter);
    if (interpreter.length === 0) return { kind: 'refused', message: '--interpreter is empty' };
    return { kind: 'serve', interpreter };
  } catch (error) {
    return { kind: 'refused', message: error instanceof Error ? error.message : String(error) };
  }
}

const QUOTED = /"([^"]*)"|'([^']*)'/g;
/** Word of a command: parts in quotes, and characters between them. */
const WORD = /(?:"[^"]*"|'[^']*'|[^\s"'])+/g;

/** Splits a command into words at whitespace; single or double quotes keep a word together. A `\` is an ordinary character, as
 *  in Windows paths. Throws for an unclosed quote. */
export function splitWords(command: string): string[] {
  const hasOpenQuote = /["']/.test(command.replace(QUOTED, ''));
  if (hasOpenQuote) throw new Error(`--interpreter has a quote that is not closed: ${command}`);
  const words = command.match(WORD) ?? [];
  return words.map((word) =>
    word.replace(QUOTED, (_, double?: string, single?: string) => double ?? single ?? ''),
  );
}
