import { type Options, parse } from 'acorn';

/**
 * Whether a JavaScript text is an ES module: it has `import`, `export`, `import.meta` or a top-level `await`. Any other is
 * CommonJS, also one that is neither: Node then says what is wrong with it.
 */
export function isEsModule(source: string): boolean {
  if (!parses(source, { sourceType: 'module' })) return false;
  // Modules are stricter than scripts, so a text that is valid only as a module has module syntax. One expression is valid in
  // both: to a script, `await (x)` is the call of a function named await. In an ordinary function of a module it is an error.
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
