import vm from 'node:vm';

/** Beside the globals of Node.js: what its modules consist of, and what could be called after the end of a job or compiles text
 *  in a job. */
const FURTHER_NAMES = [
  'import',
  'export',
  'require',
  'module',
  'exports',
  '__filename',
  '__dirname',
  'eval',
  'Function',
  'FinalizationRegistry',
  'WebAssembly',
  'waitAsync',
  'nodejs',
];

/** Globals of Node.js that a realm has in part, each with the uses that need no more. */
const PARTLY_IN_REALM: Readonly<Record<string, string>> = {
  process: String.raw`\.(?:env|exit)\b`,
  console: String.raw`\.(?:log|info|debug|warn|error)\(`,
  globalThis: String.raw`\.(?=\w)`,
};

const NEEDED = patternOfNeeds();

/**
 * Tells whether a script needs Node.js, so that a realm is not enough for it. Its text decides, with comments and everything:
 * a name that it does not contain it cannot use.
 */
export function needsNode(source: string): boolean {
  return NEEDED.test(source);
}

/** Ways to look at the names of an object, or to change it as a whole. */
const LOOKS_AT_NAMES =
  /\b(?:Object(?!\.(?:is|freeze|fromEntries)\b)|Reflect|constructor|\w*[pP]roperty\w*|__\w+__)\b|\bfor\s*\([^;)]*\bin\b|\bin\s+\(*(?:mujoco|model|data)\b|\.\.\.\s*mujoco\b|\(\s*mujoco\s*[),]/;

/** Tells whether a script may look at what names the simulator's objects have: so they need to have all. */
export function looksAtNames(source: string): boolean {
  return LOOKS_AT_NAMES.test(source);
}

function patternOfNeeds(): RegExp {
  const ofJavaScript = new Set<string>(vm.runInNewContext('Object.getOwnPropertyNames(globalThis)'));
  const names = Object.getOwnPropertyNames(globalThis).filter((name) => !ofJavaScript.has(name));
  const wholly = [...names, ...FURTHER_NAMES].filter((name) => !Object.hasOwn(PARTLY_IN_REALM, name));
  const partly = Object.entries(PARTLY_IN_REALM).map(([name, allowed]) => `${name}(?!${allowed})`);
  return new RegExp(String.raw`(?<![\w$])(?:(?:${wholly.join('|')})(?![\w$])|(?:${partly.join('|')}))`);
}
