// The agent as one executable file for each system: Node.js with the agent inside, a single executable application.
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import postject from 'postject';
import { bundleParts, licenseTexts, packagesOf } from './one-file/bundle.mjs';
import { mujocoProgram } from './one-file/mujoco-program.mjs';
import { NATIVE_MODULE, nativePackage } from './one-file/native-module.mjs';
import { NODE_VERSION, nodeBinary, SYSTEMS, systemHere } from './one-file/node-binary.mjs';
import { withoutSignature } from './one-file/signature.mjs';
import { windowsInstaller } from './one-file/windows-installer.mjs';
import { readJson, writeJson } from './stage.mjs';

/** Name of the resource, and the mark in the binary of Node.js that says whether there is one (Node.js, "Single executable applications"). */
const RESOURCE = 'NODE_SEA_BLOB';
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

/**
 * Needs the network for each version of Node.js once.
 *
 * @param {{ root: string, version: string, work: string, out: string, systems: (keyof typeof SYSTEMS)[], hasInstaller: boolean, sign?: string, log: (line: string) => void }}
 *   options `work` is an empty folder for intermediate files; `hasInstaller`: that for Windows gets an installer; `sign` is a command that signs
 *   the file whose path is appended
 * @returns {Promise<import('./contents.mjs').Made[]>}
 */
export async function singleFiles({ root, version, work, out, systems, hasInstaller, sign, log }) {
  const parts = await makeParts({ root, version, work, log });
  const made = [];
  for (const system of systems) {
    const { program, tarball } = nodeBinary(system);
    const { packages, content } = contentFor(system, { root, work, ...parts });
    const file = join(out, `workbench-agent-${version}-${system}${SYSTEMS[system].ending}`);
    log(`Single file: ${system} ...`);
    await inject({ program, content, file });
    // The last step that changes the file: what follows is its digest.
    if (sign) signFile(sign, file);
    const node = { version: NODE_VERSION, ...tarball };
    made.push({ file, name: 'workbench-agent', packages, node });
    if (!hasInstaller || !system.startsWith('win-')) continue;
    log('Single file: installer for Windows ...');
    const installer = windowsInstaller({ root, version, work, program: file });
    if (sign) signFile(sign, installer);
    made.push({ file: installer, name: 'workbench-agent', packages, node });
  }
  return made;
}

function signFile(command, file) {
  execFileSync(`${command} "${file}"`, { shell: true, stdio: 'inherit' });
}

/** Bundles the modules, which are the same for all systems, and writes what else lies beside them in each file. */
async function makeParts({ root, version, work, log }) {
  log('Single file: bundling the agent ...');
  const at = (name) => join(work, name);
  const inputs = await bundleParts({ root, outdir: work });
  const mujoco = await mujocoProgram({ root, work, version });
  const packages = packagesOf(root, [...inputs, ...mujoco.inputs]);
  const here = nodeBinary(systemHere());
  const buildInfo = readJson(join(root, 'shared/dist/build-info.json'));
  writeJson(at('build-info.json'), { ...buildInfo, version, installation: 'FILE' });
  const node = { version: NODE_VERSION, license: here.license };
  writeFileSync(at('licenses.txt'), licenseTexts({ root, packages, node }));
  return { packages, mujoco, builder: here.program };
}

/** No snapshot and no compiled code, which only the system that made them could read. */
function contentFor(system, { root, work, packages, mujoco, builder }) {
  const at = (name) => join(work, name);
  const native = system.startsWith('win-') ? nativePackage(root) : undefined;
  writeJson(at('sea.json'), {
    main: at('main.cjs'),
    output: at('content'),
    disableExperimentalSEAWarning: true,
    useSnapshot: false,
    useCodeCache: false,
    assets: {
      'agent.cjs': at('agent.cjs'),
      'launch.cjs': at('launch.cjs'),
      'build-info.json': at('build-info.json'),
      'licenses.txt': at('licenses.txt'),
      'workbench-agent.service': join(root, 'deploy/systemd/workbench-agent.service'),
      'javascript-globals.cjs': join(root, 'packages/runner/dist/javascript-globals.cjs'),
      ...mujoco.assets,
      ...(native && { [NATIVE_MODULE]: native.file }),
    },
  });
  execFileSync(builder, ['--experimental-sea-config', at('sea.json')], { stdio: 'ignore' });
  return {
    packages: native ? [...packages, { from: native.from, entry: native.entry }] : packages,
    content: readFileSync(at('content')),
  };
}

async function inject({ program, content, file }) {
  rmSync(file, { force: true });
  copyFileSync(program, file);
  chmodSync(file, 0o755);
  if (file.endsWith('.exe')) writeFileSync(file, withoutSignature(readFileSync(file)));
  // It prints a line for each section of the binary that it does not know.
  const { warn } = console;
  console.warn = () => undefined;
  try {
    await postject.inject(file, RESOURCE, content, { sentinelFuse: FUSE });
  } finally {
    console.warn = warn;
  }
}
