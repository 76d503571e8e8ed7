// A Debian package with Node.js inside, built by dpkg-deb. Texts that are not computed are in deploy/debian.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { INSTANCE_PROGRAMS, PROGRAMS, stage } from './stage.mjs';

const MAINTAINER_SCRIPTS = ['postinst', 'prerm', 'postrm'];

/**
 * Needs dpkg-deb, dpkg-shlibdeps and strip. The Node.js inside is the one that runs this.
 *
 * @param {{ root: string, program: keyof typeof PROGRAMS, version: string, work: string, out: string, seconds: number, maintainer: string, quick: boolean }}
 *   options `work` is an empty folder for intermediate files, `seconds` the time of every file
 * @returns {import('./contents.mjs').Made}
 */
export function debianPackage({ root, program, version, work, out, seconds, maintainer, quick }) {
  const { name, bin, isService = true } = PROGRAMS[program];
  const templates = join(root, 'deploy/debian', program);
  const tree = join(work, name);
  const home = join(tree, 'usr/lib', name);
  const debianVersion = version.replace('-', '~');
  const architecture = said('dpkg', ['--print-architecture']);

  const ofPackage = { addon: 'binary', installation: 'DEBIAN' };
  const packages = stage({ root, program, version, folder: home, ...ofPackage });
  rmSync(join(home, 'LICENSE'));
  const node = join(home, 'bin/node');
  mkdirSync(dirname(node));
  writeFileSync(node, readFileSync(process.execPath));
  chmodSync(node, 0o755);
  const binaries = [node, ...packages.flatMap(({ to }) => addonOf(join(home, to)))];
  for (const binary of binaries) execFileSync('strip', ['--strip-unneeded', binary]);
  link(
    tree,
    join('usr/lib', name),
    { ...bin, ...(isService ? INSTANCE_PROGRAMS : {}) },
    join('usr/lib', name, 'node_modules/.bin'),
  );
  link(tree, join('usr/lib', name), bin, 'usr/bin');

  if (existsSync(join(templates, 'etc')))
    cpSync(join(templates, 'etc'), join(tree, 'etc'), { recursive: true });
  if (isService) write(join(tree, 'lib/systemd/system', `${name}.service`), packagedUnit(root, name));
  const doc = join(tree, 'usr/share/doc', name);
  write(join(doc, 'copyright'), copyright(packages));
  const dated = new Date(seconds * 1000).toUTCString().replace('GMT', '+0000');
  write(join(doc, 'changelog.gz'), gzipSync(changelog(name, debianVersion, maintainer, dated), { level: 9 }));

  const control = join(tree, 'DEBIAN');
  for (const script of isService ? MAINTAINER_SCRIPTS : []) {
    write(join(control, script), readFileSync(join(templates, script)), 0o755);
  }
  const files = filesBelow(tree).filter((file) => !file.startsWith('DEBIAN/'));
  write(
    join(control, 'conffiles'),
    lines(files.filter((file) => file.startsWith('etc/')).map((file) => `/${file}`)),
  );
  write(join(control, 'md5sums'), lines(files.map((file) => `${md5(join(tree, file))}  ${file}`)));
  write(
    join(control, 'control'),
    filled(readFileSync(join(templates, 'control'), 'utf8'), {
      version: debianVersion,
      architecture,
      maintainer,
      node: process.versions.node,
      libraries: librariesOf(binaries, work, name),
      size: said('du', ['-sk', '--exclude=DEBIAN', tree]).split('\t')[0],
    }),
  );
  normalizeModes(tree);
  const file = join(out, `${name}_${debianVersion}_${architecture}.deb`);
  execFileSync(
    'dpkg-deb',
    ['--root-owner-group', ...(quick ? ['-Znone'] : ['-Zxz']), '--build', tree, file],
    { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, SOURCE_DATE_EPOCH: String(seconds) } },
  );
  return { file, name, packages, node: { version: process.versions.node } };
}

function addonOf(folder) {
  const file = join(folder, 'build/Release/better_sqlite3.node');
  return existsSync(file) ? [file] : [];
}

/** Links programs into `folder` and has them run on the Node.js inside, whatever the host has. */
function link(tree, home, bin, folder) {
  mkdirSync(join(tree, folder), { recursive: true });
  for (const [name, path] of Object.entries(bin)) {
    const script = join(home, 'node_modules', path);
    const text = readFileSync(join(tree, script), 'utf8');
    writeFileSync(join(tree, script), text.replace(/^#!.*/, `#!/${home}/bin/node`));
    symlinkSync(relative(folder, script), join(tree, folder, name));
  }
}

/** The unit of deploy/systemd without its remarks for those who install by hand, starting the packaged program. */
function packagedUnit(root, name) {
  const unit = readFileSync(join(root, 'deploy/systemd', `${name}.service`), 'utf8');
  const section = unit.indexOf('[Unit]');
  const start = /^ExecStart=\/usr\/bin\/node \S+ /m;
  if (section < 0 || !start.test(unit)) throw new Error(`deploy/systemd/${name}.service has another form`);
  return unit.slice(section).replace(start, `ExecStart=/usr/bin/${name} `);
}

/** Debian's machine-readable form, with the license that each package states. */
function copyright(packages) {
  const others = packages
    .filter(({ from }) => from.includes('node_modules/'))
    .map(
      ({ to, entry }) =>
        ` ${to.split('node_modules/').at(-1)} ${entry.version}: ${entry.license ?? 'see its folder'}`,
    );
  return lines([
    'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/',
    'Upstream-Name: Workbench Hub',
    `Comment: Bundled are Node.js ${process.versions.node} (MIT and others) and these npm packages, whose license texts`,
    ' are in their folders below /usr/lib:',
    ...new Set(others),
    '',
    'Files: *',
    'Copyright: the contributors to Workbench Hub',
    'License: Apache-2.0',
    ' The text is in /usr/share/common-licenses/Apache-2.0.',
  ]);
}

function changelog(name, version, maintainer, date) {
  return `${name} (${version}) stable; urgency=medium\n\n  * See CHANGELOG.md of this version.\n\n -- ${maintainer}  ${date}\n`;
}

/** The packages whose libraries Node.js and the add-on load, as dpkg-shlibdeps finds them. */
function librariesOf(binaries, work, name) {
  write(join(work, 'debian/control'), `Source: ${name}\n\nPackage: ${name}\nArchitecture: any\n`);
  const found = execFileSync('dpkg-shlibdeps', ['-O', ...binaries.map((file) => `-e${file}`)], {
    cwd: work,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return found.trim().replace(/^shlibs:Depends=/, '');
}

/** Modes that do not depend on the builder's umask; dpkg-deb sets the times. */
function normalizeModes(tree) {
  execFileSync('chmod', ['-R', 'u=rwX,go=rX', tree]);
}

function filled(template, values) {
  return template.replace(/@(\w+)@/g, (_, key) => {
    if (!(key in values)) throw new Error(`a template names @${key}@`);
    return values[key];
  });
}

function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath ?? entry.path, entry.name)))
    .sort();
}

function write(file, content, mode = 0o644) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  chmodSync(file, mode);
}

function lines(texts) {
  return texts.map((text) => `${text}\n`).join('');
}

function md5(file) {
  return createHash('md5').update(readFileSync(file)).digest('hex');
}

function said(command, args) {
  return execFileSync(command, args, { encoding: 'utf8' }).trim();
}
