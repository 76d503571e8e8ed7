import { type Options, parse } from 'acorn';

/**
 * Whether a JavaScript is an ES module: it has `import`, `export`, `import.meta` or a top-level `await`. Any other is
 * CommonJS, also one that is neither: Node then says what is wrong with it.
 */
export function isEsModule(source: string): boolean {
  if (!parses(source, { sourceType: 'module' })) return false;
  // A module is stricter than a script, so what fails as a script now is what only modules have. One thing passes as
  // both: in `await (x)` a script sees the call of a function named await. Within an ordinary function of a module it
  // is an error.
  const body = source.replace(/^#!/, '//');
  return !parses(source, { sourceType: 'script' }) || !parses(`() => {${body}\n}`, { sourceType: 'module' });
}

function parses(source: string, options: Partial<Options>): boolean {
  try {
    parse(source, { ecmaVersion: 'latest', allowHashBang: true, ...options });
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}
