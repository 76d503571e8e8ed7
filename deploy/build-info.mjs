// Writes shared/dist/build-info.json: version, revision, date and kind of this build. Rewritten only when one of them but the
// date changes, so that a second build changes no file.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const file = fileURLToPath(new URL('../shared/dist/build-info.json', import.meta.url));

/** Short commit id, or "unknown" without git or outside a clone. */
function readRevision() {
  try {
    // safe.directory: root may build another user's clone; git executes nothing from it here.
    const git = ['-c', 'safe.directory=*', 'rev-parse', '--short', 'HEAD'];
    return execFileSync('git', git, {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return 'unknown';
  }
}

function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/** Local time with its offset, as in 2022-05-27T13:50:08.523+0100. */
function formatTimestamp(date) {
  const offsetMinutes = -date.getTimezoneOffset();
  const local = new Date(date.getTime() + offsetMinutes * 60_000).toISOString().slice(0, -1);
  const two = (number) => String(number).padStart(2, '0');
  const hours = two(Math.floor(Math.abs(offsetMinutes) / 60));
  return `${local}${offsetMinutes < 0 ? '-' : '+'}${hours}${two(Math.abs(offsetMinutes) % 60)}`;
}

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const revision = readRevision();
const previous = readJson(file);
/** Kind of installation; packages have their own (deploy/package). */
const installation = 'CHECKOUT';
if (
  previous?.version !== version ||
  previous?.revision !== revision ||
  previous?.installation !== installation
) {
  const buildDate = formatTimestamp(new Date());
  const info = { version, revision, buildDate, vendor: 'Workbench Hub', installation };
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(info, null, 2)}\n`);
}
