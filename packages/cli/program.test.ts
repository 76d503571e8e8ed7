import { type Command, InvalidArgumentError } from 'commander';
import { describe, expect, it } from 'vitest';
import { EXAMPLES } from './examples.js';
import { createProgram } from './program.js';

/** All commands with what leads to them, without those of the completion. */
function commands(command: Command, path: readonly string[] = []): [path: string, command: Command][] {
  return command.commands
    .filter((each) => each.name() !== 'complete')
    .flatMap((each) =>
      each.commands.length === 0
        ? [[[...path, each.name()].join(' '), each] as [string, Command]]
        : commands(each, [...path, each.name()]),
    );
}

const { command: program } = createProgram('0.0.0');
const all = commands(program);

describe('the help', () => {
  it('has an example for each command, and none for others', () => {
    expect(Object.keys(EXAMPLES).toSorted()).toEqual(all.map(([path]) => path).toSorted());
  });

  it.each(all)('of %s has options that its examples use', (path, command) => {
    for (const example of EXAMPLES[path] ?? []) {
      // The part of this command only.
      const [part = ''] = example.slice(example.indexOf(`wb ${path}`)).split(/\||&&|\$\(/);
      expect(part).toContain(`wb ${path}`);
      for (const [option] of part.matchAll(/ --[a-z-]+/g))
        expect(command.options.map(({ long }) => long)).toContain(option.trim());
    }
  });
});

describe('an option that takes a number', () => {
  const ofNumbers = all.flatMap(([path, command]) =>
    command.options
      .filter(({ flags }) => /<(?:count|number|seconds)>/.test(flags))
      .map((option) => [`${path} ${option.long}`, option] as const),
  );

  it.each(ofNumbers)('%s refuses other text', (_, option) => {
    for (const text of ['7d', '10m', ' '])
      expect(() => option.parseArg?.(text, option.defaultValue)).toThrow(InvalidArgumentError);
  });
});
