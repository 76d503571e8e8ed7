// Runs npm quietly: progress lines say what it is waiting for, and its own output is shown when it fails. Only syntax of
// Node 14, as in prepare.mjs.
import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const HEARTBEAT_MS = 10_000;
const SHOWN_LINES = 40;
const GUARD = fileURLToPath(new URL('npm-guard.mjs', import.meta.url));

/** Beginnings of npm's lines, each with the stage that it shows. */
const STAGES = [
  [/^> better-sqlite3@\S+ install/, 'looking for a SQLite add-on that is built for this Node.js'],
  [
    /gyp info (?:it worked|using|find)|No prebuilt binaries|node-gyp rebuild/,
    'compiling SQLite, since there is no build for this Node.js and system: this can take minutes',
  ],
  [/COPY Release\/better_sqlite3\.node|gyp info ok/, 'finishing the installation'],
];
const COMPILES = 1;

/**
 * Runs npm in the root. npm ends with this process, even when this process is killed.
 *
 * @param {readonly string[]} args
 * @param {{ root: string, activity: string, log: (line: string) => void }} options `activity` is the first thing it does
 */
export function runNpm(args, options) {
  const npmScript = process.env.npm_execpath; // set when npm started this process: use the same npm
  const npm = npmScript ? [process.execPath, npmScript] : ['npm'];
  return runQuietly([...npm, '--foreground-scripts', ...args], `npm ${args.join(' ')}`, options);
}

/** Runs a script of Node.js in the same way. */
export function runNode(script, args, options) {
  return runQuietly([process.execPath, script, ...args], script, options);
}

function runQuietly(command, name, { root, activity, log }) {
  const started = Date.now();
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [GUARD, ...command], {
      cwd: root,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: Object.assign({}, process.env, compilerSettings()),
    });
    const lines = [];
    let stage = -1;
    const now = () => (stage < 0 ? activity : STAGES[stage][1]);
    const read = (line) => {
      lines.push(line);
      if (lines.length > 10 * SHOWN_LINES) lines.splice(0, SHOWN_LINES);
      const reached = STAGES.findIndex(([sign], index) => index > stage && sign.test(line));
      if (reached < 0) return;
      stage = reached;
      log(`  ... ${now()}`);
    };
    for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', read);
    const heartbeat = setInterval(
      () => log(`  ... ${now().split(',')[0].split(':')[0]}, ${Math.round((Date.now() - started) / 1000)} s`),
      HEARTBEAT_MS,
    );
    child.once('error', (error) => {
      clearInterval(heartbeat);
      reject(error);
    });
    child.once('close', (code, signal) => {
      clearInterval(heartbeat);
      if (code === 0) return resolve();
      const how = signal ? signal : `exit code ${code}`;
      const last = lines.slice(-SHOWN_LINES).join('\n');
      const remedy =
        stage === COMPILES
          ? '\nSQLite must be compiled here, which needs Python 3, make and a C++ compiler (Debian: apt-get install python3 make g++).'
          : '';
      reject(new Error(`${name} failed (${how}). The end of its output:\n${last}${remedy}`));
    });
  });
}

/** Settings that compile add-ons against the headers beside this Node.js, if any, without a download. */
function compilerSettings() {
  const prefix = join(dirname(realpathSync(process.execPath)), '..');
  return existsSync(join(prefix, 'include/node/node_version.h'))
    ? { npm_package_config_node_gyp_nodedir: prefix }
    : {};
}
