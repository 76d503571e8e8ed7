// All static checks. Types come first, since they produce the build; the others run in parallel. Each prints its name,
// and its output when it fails.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const cruised = ['shared', 'hub', 'agent', 'packages', 'test', 'deploy'];

const checks = {
  types: ['@typescript/native/bin/tsc', '-b'],
  'format and lint (biome)': ['@biomejs/biome/bin/biome', 'check', '--error-on-warnings'],
  'spelling (cspell)': [
    'cspell/bin.mjs',
    ...['lint', '--config', '.cspell/cspell.config.mjs', '--no-progress', '--no-summary'],
    ...['--dot', '**/*.{md,ts,tsx,mjs,js,cjs,py,css,yaml,json,xml,sh,service,toml,conf}', '.ci/run'],
  ],
  'unused code (knip)': ['knip/bin/knip.js', '--config', '.knip.json', '--no-progress'],
  'import directions (dependency-cruiser)': [
    'dependency-cruiser/bin/dependency-cruise.mjs',
    ...['--config', '.dependency-cruiser.cjs', '--output-type', 'err-long', ...cruised],
  ],
};

async function run([name, [script, ...args]]) {
  const started = Date.now();
  const child = spawn(process.execPath, [`node_modules/${script}`, ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: process.stdout.isTTY ? { ...process.env, FORCE_COLOR: '1' } : process.env,
  });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (output += chunk));
  const code = await new Promise((resolve, reject) => child.once('close', resolve).once('error', reject));
  const time = `${((Date.now() - started) / 1000).toFixed(1)} s`;
  if (code === 0) console.log(`ok      ${name}, ${time}`);
  else console.log(`FAILED  ${name}, ${time}\n\n${output.trim()}\n`);
  return { name, passed: code === 0 };
}

const [types, ...others] = Object.entries(checks);
const results = [await run(types), ...(await Promise.all(others.map(run)))];
const failed = results.filter((result) => !result.passed).map((result) => result.name);
if (failed.length > 0) {
  console.error(`Checks failed: ${failed.join('; ')}`);
  process.exitCode = 1;
}
