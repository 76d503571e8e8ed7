// Wine 10 on Linux, in which the tests of Windows run: that of the system, or that of Debian 13 in a folder of its own.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { debianFolder } from '../debian-folder.mjs';

/** Wine 8 has no taskkill /T, and jobs could not fetch their files there. */
const OLDEST = 10;

/** Folder of Windows as it was made: earlier versions of this file had sessions change one with the name `windows`. */
const WINDOWS = 'windows-as-made';
/** Folder in which each session sees another one of its own. */
const OWN = 'own';

/** Everything ends with the first process: Wine's servers, too. `$BINDS` are folders that are visible inside, `$ROOT` is the folder of
 *  the system inside, or empty. `$LAYER`, if it is not empty, has the folder `upper`, which is laid over `$BELOW`. What is written to
 *  Windows is in `$OWN`, if that is not empty, and goes with the session: sessions at the same time would share servers and registry. */
const SESSION = `
if [ -n "$OWN" ]; then
  mount -t tmpfs tmpfs "$OWN" && mkdir "$OWN/upper" "$OWN/work" || exit 125
  mount -t overlay overlay -o "lowerdir=$WINEPREFIX,upperdir=$OWN/upper,workdir=$OWN/work" "$WINEPREFIX" || exit 125
fi
if [ -n "$LAYER" ]; then
  mount -t overlay overlay -o "lowerdir=$BELOW,upperdir=$LAYER/upper,workdir=$LAYER/work" "$BELOW" || exit 125
fi
mount -t proc proc "$ROOT/proc" || exit 125
if [ -n "$ROOT" ]; then
  mount --rbind /dev "$ROOT/dev" || exit 125
  for folder in $BINDS; do mkdir -p "$ROOT$folder" && mount --rbind "$folder" "$ROOT$folder" || exit 125; done
  exec chroot "$ROOT" sh -c "$1"
fi
exec sh -c "$1"
`;

/**
 * Opens Wine with a fresh Windows below `folder`; both are kept for later runs. Throws when it cannot be had, with what to do.
 *
 * @param {string} folder cache folder, without blanks in its path
 * @param {{ log: (line: string) => void }} options
 */
export function openWine(folder, { log }) {
  mkdirSync(folder, { recursive: true });
  const system = hasWine() ? '' : debianWithWine(folder, log);
  const windows = join(folder, WINDOWS);
  const session = { system, windows };
  mkdirSync(join(folder, OWN), { recursive: true });
  if (!existsSync(windows)) {
    log('Windows: a first start of Wine ...');
    const fresh = `${windows}.new`;
    rmSync(fresh, { recursive: true, force: true });
    const made = { system, windows: fresh, isKept: true };
    const [command, ...words] = wineSession(made, 'wineboot --init', [folder]);
    const { status } = spawnSync(command, words, { stdio: 'ignore' });
    if (status !== 0) throw new Error(`wineboot ended with ${status}`);
    renameSync(fresh, windows);
  }
  return session;
}

/**
 * Command that runs a script of sh in which `wine` starts programs of Windows. A process that is left ends with the script, and so does what
 * the script has changed in Windows.
 *
 * @param {{ system: string, windows: string, isKept?: boolean }} session from {@link openWine}; `isKept`: the changes stay
 * @param {string} script its output goes to files: a server of Wine would hold a pipe
 * @param {readonly string[]} folders visible under their own paths
 * @param {{ below: string, layer: string }} [over] content of `upper` in the folder `layer` is laid over the folder `below`; `work` in it
 *   is empty
 */
export function wineSession({ system, windows, isKept = false }, script, folders, over) {
  const environment = [
    'HOME=/root',
    'LANG=C.UTF-8',
    'PATH=/usr/sbin:/usr/bin:/sbin:/bin',
    'WINEDEBUG=-all',
    'WINEDLLOVERRIDES=mscoree,mshtml=',
    `WINEPREFIX=${windows}`,
    `ROOT=${system}`,
    `BELOW=${over?.below ?? ''}`,
    `LAYER=${over?.layer ?? ''}`,
    `OWN=${isKept ? '' : join(windows, '..', OWN)}`,
    `BINDS=${[join(windows, '..'), ...folders].join(' ')}`,
  ];
  const user = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
  const isolated = ['unshare', ...user, '--mount', '--pid', '--fork', '--kill-child'];
  return ['env', '-i', ...environment, ...isolated, 'sh', '-c', SESSION, 'sh', `${script}; wineserver -k`];
}

function hasWine() {
  const { stdout } = spawnSync('wine', ['--version'], { encoding: 'utf8' });
  return Number(/^wine-(\d+)/.exec(stdout ?? '')?.[1] ?? 0) >= OLDEST;
}

/** Folder of a Debian with Wine. */
function debianWithWine(folder, log) {
  return debianFolder(join(folder, 'trixie'), {
    packages: ['wine', 'wine64'],
    advice: `tests of Windows need Wine ${OLDEST} or newer on this machine`,
    log: () => log('Windows: Debian 13 for Wine (1.5 GB, about two minutes) ...'),
  });
}
