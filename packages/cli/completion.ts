/**
 * Completion of commands in shells: `wb complete bash` prints the script of a shell, which calls `wb complete -- WORD...` and gets a line
 * for each suggestion, with its description after a tab, and a last line that says whether names of files fit, too.
 */
import tab from '@bomb.sh/tab';
import { api, Hub } from '@workbench-hub/client';
import type { Argument, Command, Option } from 'commander';
import { type HubOptions, targetOf } from './connect.js';
import { printable } from './console.js';
import { UsageError } from './exit-codes.js';
import { readProfiles } from './profiles.js';

const SHELLS = ['bash', 'zsh', 'fish', 'powershell'];
/** Longest wait for the hub: a user has pressed a key. */
const PATIENCE_MS = 2000;
const MAX_SUGGESTIONS = 50;
/** Words that no shell expands. */
const PLAIN = /^[\w.@:+,/-]+$/;
const FILES_FIT = ':0';
const NO_FILES_FIT = ':4';

interface Suggestion {
  readonly value: string;
  readonly description?: string | undefined;
}

/** Suggestions for one word, or names of files. */
type Suggestions = readonly Suggestion[] | 'FILES';

type Source = (hub: () => Promise<Hub>) => Promise<Suggestions>;

const words =
  (...values: readonly string[]): Source =>
  async () =>
    values.map((value) => ({ value }));

const files: Source = async () => 'FILES';

const profiles: Source = async () =>
  Object.entries((await readProfiles()).profiles).map(([value, { url }]) => ({ value, description: url }));

const instances: Source = async (hub) =>
  (await (await hub()).instances()).map(({ id, status }) => ({ value: id, description: status }));

const tasks: Source = async (hub) => {
  const { tasks: newest } = await (await hub()).window({}, { limit: MAX_SUGGESTIONS });
  return newest.map(({ id, status, name }) => ({ value: id, description: `${status} ${name ?? ''}`.trim() }));
};

const agents: Source = async (hub) => {
  const query = { page: 0, size: MAX_SUGGESTIONS };
  const { data } = await api.listAgentStates({ client: (await hub()).client, query, throwOnError: true });
  return data.content.map(({ id, status }) => ({ value: id, description: status }));
};

const stored =
  (list: typeof api.listInputFiles): Source =>
  async (hub) => {
    const query = { limit: MAX_SUGGESTIONS };
    const { data } = await list({ client: (await hub()).client, query, throwOnError: true });
    return data.files.map(({ name }) => ({ value: name }));
  };

const ofInstances =
  (field: 'labels' | 'version'): Source =>
  async (hub) => {
    const values = (await (await hub()).instances()).flatMap((instance) => instance[field] ?? []);
    return [...new Set(values)].map((value) => ({ value }));
  };

const studies: Source = async (hub) => {
  const query = { limit: MAX_SUGGESTIONS };
  const { data } = await api.listStudies({ client: (await hub()).client, query, throwOnError: true });
  return data.studies.map(({ id, state, name }) => ({ value: id, description: `${state} ${name}` }));
};

/** Values of options, by their names. */
const OF_OPTIONS: Readonly<Record<string, Source>> = {
  '--status': words('WAITING', 'RUNNING', 'FINISHED', 'FAILED', 'CANCELED'),
  '--priority': words('HIGHEST', 'HIGH', 'NORMAL', 'LOW', 'LOWEST'),
  '--from': words('today', 'yesterday', '2h', '1w'),
  '--to': words('today', 'yesterday', '2h', '1w'),
  '--instance': instances,
  '--study': studies,
  '--label': ofInstances('labels'),
  '--version': ofInstances('version'),
  '--profile': profiles,
  '--model': files,
  '--script': files,
  '--file': files,
  '--out': files,
  '--files': files,
  '--keys': files,
  '--save-keys': files,
  '--points': files,
  '--plan': words('grid', 'one-at-a-time', 'latin-hypercube', 'sobol'),
  '--outcome': words('FINISHED', 'REUSED', 'SOLVER_FAILED', 'RULE_FAILED', 'INFRASTRUCTURE', 'CANCELED'),
  '--ca-file': files,
};

/** Values of arguments, by the command and the name of the argument. */
const OF_ARGUMENTS: readonly [place: RegExp, Source][] = [
  [/^instance \w+ id$/, instances],
  [/^agent \w+ id$/, agents],
  [/ id$/, tasks],
  [/^study \w+ study$/, studies],
  [/^storage get name$/, stored(api.listOutputFiles)],
  [/^storage (?:info|rm) name$/, stored(api.listInputFiles)],
  [/^profiles name$/, profiles],
  [/ (?:file|path)$/, files],
];

/** Adds the command `complete`. */
export function addCompletion(program: Command): void {
  program
    .command('complete')
    .argument('[shell]', `shell whose script is printed: ${SHELLS.join(', ')}`)
    .description('print the script by which a shell completes commands')
    .allowExcessArguments()
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (shell: string | undefined) => {
      const raw = process.argv.slice(2);
      if (raw[1] === '--') process.stdout.write(`${(await linesFor(program, raw.slice(2))).join('\n')}\n`);
      else if (shell === undefined || !SHELLS.includes(shell))
        throw new UsageError(`which shell? One of ${SHELLS.join(', ')}`);
      else printScript(shell);
    });
}

/** Prints the script of a shell. */
function printScript(shell: string): void {
  const print = console.log;
  console.log = (text: string) =>
    process.stdout.write(
      // Constants cannot be set again when the script is sourced twice; names of files are for the shell to complete.
      `${text.replaceAll(/^readonly (?=ShellComp)/gm, '').replace(/^complete -F /m, 'complete -o default -F ')}\n`,
    );
  try {
    tab.setup('wb', 'wb', shell);
  } finally {
    console.log = print;
  }
}

/** Suggestions for these words, of which the last one is to be completed. */
export async function linesFor(program: Command, given: readonly string[]): Promise<string[]> {
  const found = await suggestions(program, given).catch((): Suggestions => []);
  if (found === 'FILES') return [FILES_FIT];
  const current = (given.at(-1) ?? '').replace(/^--[\w-]+=/, '');
  const lines = found
    .filter(({ value }) => PLAIN.test(value) && value.startsWith(current))
    .slice(0, MAX_SUGGESTIONS)
    .map(({ value, description }) => `${value}\t${printable(description ?? '')}`);
  return [...lines, NO_FILES_FIT];
}

async function suggestions(program: Command, given: readonly string[]): Promise<Suggestions> {
  const current = given.at(-1) ?? '';
  const { command, path, args, open, hubOptions } = place(program, given.slice(0, -1));
  const hub = async () => {
    const { credentials, ...target } = await targetOf(hubOptions);
    const known = credentials === undefined ? {} : { credentials };
    return new Hub({ ...target, ...known, timeoutMs: PATIENCE_MS, retryDelaysMs: [] });
  };
  const assigned = /^(--[\w-]+)=/.exec(current)?.[1];
  const option = open ?? (assigned === undefined ? undefined : optionOf(command, assigned));
  if (option) return (OF_OPTIONS[option.long ?? ''] ?? words(...(option.argChoices ?? [])))(hub);
  if (current.startsWith('-'))
    return command.options
      .filter(({ hidden }) => !hidden)
      .map(({ long, description }) => ({ value: long ?? '', description }));
  if (command.commands.length > 0)
    return command.commands.map((each) => ({ value: each.name(), description: each.description() }));
  const argument = argumentAt(command, args);
  if (!argument) return [];
  if (argument.argChoices) return words(...argument.argChoices)(hub);
  const where = `${path.join(' ')} ${argument.name()}`;
  return (OF_ARGUMENTS.find(([pattern]) => pattern.test(where))?.[1] ?? words())(hub);
}

function argumentAt({ registeredArguments }: Command, at: number): Argument | undefined {
  const last = registeredArguments.at(-1);
  return registeredArguments[at] ?? (last?.variadic ? last : undefined);
}

interface Place {
  readonly command: Command;
  readonly path: readonly string[];
  /** Number of arguments that are there. */
  readonly args: number;
  /** Option whose value comes next. */
  readonly open: Option | undefined;
  readonly hubOptions: HubOptions;
}

/** Where the words lead. */
function place(program: Command, given: readonly string[]): Place {
  let command = program;
  const path: string[] = [];
  let args = 0;
  let open: Option | undefined;
  const hubOptions: Record<string, string> = {};
  for (const word of given) {
    const next = command.commands.find((each) => each.name() === word);
    if (open) {
      keepHubOption(hubOptions, open, word);
      open = undefined;
    } else if (word.startsWith('-')) {
      const [name = '', value] = word.split('=', 2);
      const option = optionOf(command, name);
      if (option && value !== undefined) keepHubOption(hubOptions, option, value);
      else if (takesValue(option)) open = option;
    } else if (next) {
      command = next;
      path.push(word);
    } else args++;
  }
  return { command, path, args, open, hubOptions };
}

/** Keeps the value of an option that names the hub. */
function keepHubOption(hubOptions: Record<string, string>, option: Option, value: string): void {
  const name = option.attributeName();
  if (['hub', 'profile', 'caFile'].includes(name)) hubOptions[name] = value;
}

function takesValue(option: Option | undefined): boolean {
  return option !== undefined && (option.required || option.optional);
}

function optionOf(command: Command, name: string): Option | undefined {
  return command.options.find(({ long, short }) => long === name || short === name);
}
