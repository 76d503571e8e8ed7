/**
 * Scripts that try to get hold of an object of their thread, or to end the process, with every value that a realm can make. The
 * jobs run in the real program; `--isolation realm` is its default.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';
import {
  type JobFolder,
  layOutJob,
  type ProgramUnderTest,
  startProgram,
} from '@workbench-hub/shared/instance-protocol/program-under-test';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OpenHostFiles } from './host-files.js';
import { WALK } from './realm-walk.js';
import { needsNode } from './script-needs.js';

const MUJOCO = fileURLToPath(new URL('bin/workbench-mujoco.js', import.meta.url));
const MODEL = {
  name: 'model.mjcf',
  content: '<mujoco><worldbody><body><joint/><geom size="1"/></body></worldbody></mujoco>',
};

/** Makes `hostile`, a list of values by name, and `met`, everything that their methods and traps are given. */
const HOSTILE = `
  const met = [];
  const meet = (how, values) => { for (const value of values) met.push([how, value]) };
  const OWN_TEXT = Symbol.for('node' + 'js.util.inspect.custom');
  const METHODS = ['toString', 'valueOf', 'toJSON', 'then', 'slice', 'replace', 'split', 'replaceAll', 'resolve', 'write', 'getTime',
    Symbol.toPrimitive, Symbol.iterator, Symbol.asyncIterator, Symbol.hasInstance, OWN_TEXT, 'inspect'];
  const GETTERS = ['length', 'name', 'message', 'stack', 'code', 'cause', 'href', 'protocol', 'buffer', 'byteLength', 'byteOffset',
    'size', 'constructor', 'mode', 'flag', 'encoding', 'signal', 'node', 'parent', 'hostRoot', 'hostFd', Symbol.toStringTag];
  const withMethods = (object, result) => {
    for (const name of METHODS) Object.defineProperty(object, name, { configurable: true, value(...values) { meet(String(name), [this, ...values]); return result } });
    return object;
  };
  const withGetters = (object, result) => {
    for (const name of GETTERS) try { Object.defineProperty(object, name, { configurable: true, get(...values) { meet('get ' + String(name), [this, ...values]); return result } }) } catch {}
    return object;
  };
  const watched = (target) => new Proxy(target, new Proxy({}, { get: (_, trap) => (...values) => { meet('trap ' + trap, values); return Reflect[trap](...values) } }));
  const throwing = (thrown) => new Proxy({}, new Proxy({}, { get: () => () => { throw thrown } }));
  class OwnBytes extends Uint8Array {}
  withGetters(OwnBytes.prototype, 'x'); withMethods(OwnBytes.prototype, 'x');
  const hostile = {
    methods: withMethods({}, 'x'), methodsToObject: withMethods({}, {}), methodsToSymbol: withMethods({}, Symbol('x')),
    getters: withGetters({}, 'x'), gettersToObject: withGetters({}, withMethods({}, 'x')), both: withGetters(withMethods({}, 1), 1),
    functionWithMethods: withGetters(withMethods(() => 1, 'x'), 'x'), arrayWithMethods: withMethods(['x'], 'x'),
    proxy: watched({}), proxyOfFunction: watched(function () {}), proxyOfArray: watched([1, 2]), proxyOfBytes: watched(new Uint8Array(3)),
    proxyOfText: watched(Object('x')), belowProxy: Object.create(watched({})), throwing: throwing(new Error('own')), throwingNothing: throwing(undefined),
    revoked: (() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy })(),
    revokedFunction: (() => { const { proxy, revoke } = Proxy.revocable(function () {}, {}); revoke(); return proxy })(),
    ownClass: class {}, proxyOfClass: watched(class {}), trapOfClass: new Proxy(function () {}, { apply: class {}, get: class {} }), noTrap: new Proxy(function () {}, { apply: 1, get: 1 }),
    error: withGetters(withMethods(new Error('own'), 'x'), Symbol('x')), errorOfSymbols: Object.assign(new Error(), { stack: Symbol(), name: Symbol() }),
    ownBytes: new OwnBytes(4), bytes: new Uint8Array(4), floats: new Float64Array(2), view: new DataView(new ArrayBuffer(8)), memory: new ArrayBuffer(8),
    withoutPrototype: withMethods(Object.create(null), 'x'), symbol: Symbol('x'), ownTextSymbol: OWN_TEXT, bigint: 2n ** 70n, nan: NaN, infinite: -Infinity, negative: -1,
    fraction: 0.5, large: 2 ** 53, zeroByte: 'a\\0b', loneSurrogate: '\\ud800', long: 'x'.repeat(70000), nothing: null, missing: undefined, yes: true,
    promise: Promise.resolve(1), date: withMethods(new Date(NaN), 'x'), map: new Map([[watched({}), watched({})]]), set: new Set([watched({})]),
    regexp: withGetters(/x/g, 'x'), boxed: withMethods(Object('x'), {}), list: [watched({}), , withMethods({}, 'x')],
  };
  // Not awaited by anybody, and no reason for the job to fail.
  const call = (how, called, receiver = undefined, values = []) => {
    try { meet('result of ' + how, [Reflect.apply(called, receiver, values)]) } catch (error) { meet('error of ' + how, [error]) }
  };
  const callWithAll = (how, called, receiver = undefined) => {
    for (const [kind, value] of Object.entries(hostile)) {
      for (const values of [[value], ['x', value], [1, value], ['x', 1, value], ['x', 'x', 0, value], [value, value, value, value, value]]) call(how + ' with ' + kind, called, receiver, values);
    }
  };
`;

const ENTRIES: [title: string, calls: string][] = [
  [
    'the globals',
    `for (const called of [print, println, readFile, writeFile, process.exit]) callWithAll(called.name, called);
     for (const place of ['%s', '%d', '%i', '%f', '%j', '%o', '%O', '%c', '%%'])
       for (const value of Object.values(hostile)) call(place, (...values) => console.log(...values), undefined, [place + ' %s', value, value]);
     for (const [kind, value] of Object.entries(hostile)) { try { process.env[kind] = value } catch (error) { meet('environment', [error]) } }`,
  ],
  [
    "the simulator's files",
    `const { FS } = mujoco;
     for (const name of ['open', 'close', 'read', 'write', 'stat', 'lstat', 'mkdir', 'mkdev', 'mknod', 'create', 'rmdir', 'unlink', 'rename', 'readdir', 'readFile',
       'writeFile', 'truncate', 'ftruncate', 'chmod', 'fchmod', 'utime', 'llseek', 'symlink', 'readlink', 'lookupPath', 'analyzePath', 'chdir', 'isDir'])
       if (typeof FS[name] === 'function') callWithAll(name, FS[name], FS);`,
  ],
  [
    'the driver of the files',
    `const { node } = mujoco.FS.lookupPath(workingDirectory);
     for (const [name, called] of [...Object.entries(node.node_ops), ...Object.entries(node.stream_ops)]) {
       callWithAll(name, called);
       for (const [kind, value] of Object.entries(hostile)) {
         const own = { hostRoot: value, name: value, parent: { hostRoot: value }, mode: 0o100644 };
         const stream = { node: own, flags: value, position: value, hostFd: value };
         const open = { node: own, flags: 0, position: 0, hostFd: undefined };
         for (const values of [[own, value, value], [own, { mode: value, size: value }], [stream, value, value, value, value], [open, new Uint8Array(3), value, value, value], [{ ...node, hostRoot: undefined }, value, value]]) call(name + ' of ' + kind, called, undefined, values);
       }
     }`,
  ],
  [
    "the options of the simulator's script",
    `for (const name of ['instantiateWasm', 'print', 'printErr', 'ccall', 'cwrap', 'addRunDependency', 'removeRunDependency'])
       if (typeof mujoco[name] === 'function') callWithAll(name, mujoco[name], mujoco);
     call('env', mujoco.instantiateWasm, mujoco, [{ env: watched({}) }, (...values) => meet('instance', values)]);`,
  ],
  [
    'functions and classes of the simulator',
    `for (const name of ['mj_step', 'mj_forward', 'mj_resetData', 'mj_name2id', 'mj_version', 'mj_saveModel']) callWithAll(name, mujoco[name], mujoco);
     for (const name of ['from_xml_path', 'from_xml_string', 'loadFromXML']) if (mujoco.MjModel[name]) callWithAll(name, mujoco.MjModel[name], mujoco.MjModel);
     for (const value of Object.values(hostile)) { try { new mujoco.MjData(value) } catch (error) { meet('new', [error]) } try { data.time = value } catch (error) { meet('set', [error]) } }`,
  ],
  [
    'errors whose stacks cannot be written',
    `for (const [kind, value] of Object.entries(hostile)) for (const name of ['name', 'message', 'toString']) {
       const error = new Error('own');
       Object.defineProperty(error, name, { value });
       call('stack of ' + kind, () => error.stack);
       const none = Object.create(null);
       call('capture', () => { Error.captureStackTrace(none); Object.defineProperty(none, name, { value }); return none.stack });
     }
     for (const value of Object.values(hostile)) { Error.prepareStackTrace = value; call('prepare', () => new Error('own').stack) }
     for (const value of Object.values(hostile)) { Error.stackTraceLimit = value; call('limit', () => new Error('own').stack) }
     Error.prepareStackTrace = undefined; Error.stackTraceLimit = 10;
     const Own = Error;
     const stackWith = (how, value) => {
       globalThis.Error = value;
       call(how, () => new Own('own').stack);
       globalThis.Error = Own;
     };
     for (const [kind, value] of Object.entries(hostile)) stackWith('stack without Error by ' + kind, value);`,
  ],
  [
    'a full stack',
    `const calls = [() => new Error('own').stack, () => println('x'), () => readFile('none'), () => writeFile('w', new Uint8Array(1)), () => println({ a: [new Map()] }),
       () => mujoco.FS.readdir('/'), () => mujoco.mj_version(), () => Promise.reject(1).catch(() => {}), () => data.qpos];
     for (const called of calls) {
       const leaks = [];
       let deepest = 100;
       const down = () => {
         try { down() } catch (error) { if (!(error instanceof Error)) leaks.push(error) }
         if (deepest-- > 0) for (let again = 0; again < 3; again++) try { called() } catch (error) {
           if (!(error instanceof Error)) leaks.push(error);
           try { Object.defineProperty(error, 'name', { value: Symbol() }); error.stack } catch (another) { if (!(another instanceof Error)) leaks.push(another) }
         }
       };
       down();
       meet('full stack of ' + called, leaks.slice(0, 50));
     }`,
  ],
  [
    'built-in functions that the realm uses',
    `const { join, map, split } = Array.prototype;
     for (const value of Object.values(hostile).concat("imp" + "ort('node:fs')", "(function () { return this })()")) {
       Array.prototype.join = Array.prototype.map = () => value;
       call('print', println, undefined, ['x', 'y']);
       call('evaluate', () => mujoco.mj_fullM);
       call('evaluate', () => new mujoco.MjvScene(model, 1));
       call('list', () => mujoco.FS.readdir(workingDirectory));
       Array.prototype.join = join; Array.prototype.map = map;
     }`,
  ],
];

/** Values with which a script ends. */
const OF_ENDS = [
  'methods',
  'proxy',
  'throwing',
  'revoked',
  'error',
  'errorOfSymbols',
  'symbol',
  'long',
  'promise',
];

/** Scripts that end by a hostile value. */
const ENDS: [title: string, script: string][] = [
  ['throws every value', 'throw hostile[variables_kind];'],
  ['rejects without anybody who listens', 'Promise.reject(hostile[variables_kind]);'],
  [
    'ends its function early, and throws',
    '})\n;(() => { HOSTILE throw hostile[variables_kind] })(); (async function () {',
  ],
  ['exits with a hostile code', 'process.exit(hostile[variables_kind]);'],
  [
    'leaves hostile built-in functions',
    `JSON.stringify = () => hostile[variables_kind]; Array.prototype.toJSON = Object.prototype.toJSON = () => hostile[variables_kind]; println({}); throw new Error('own');`,
  ],
  [
    'leaves hostile data of the simulator',
    'for (const name of ["warning", "qpos", "qvel"]) Object.defineProperty(data, name, { get: () => hostile[variables_kind] });',
  ],
];

describe('a hostile script', () => {
  let mujoco: ProgramUnderTest;
  const folders: JobFolder[] = [];
  beforeAll(async () => {
    mujoco = await startProgram([process.execPath, MUJOCO, '--isolation', 'realm']);
  });
  afterAll(async () => {
    await mujoco.shutdown();
    for (const folder of folders) await folder.remove();
  });
  const run = async (script: string) => {
    const folder = await layOutJob({ model: MODEL, scripts: [script] });
    folders.push(folder);
    const result = await mujoco.host.executeBatchJob(folder.params);
    const printed = mujoco.outputs.filter(
      ({ taskId, stream }) => taskId === folder.params.taskId && stream === 'stdout',
    );
    return { result, printed: printed.map(({ text }) => text).join('') };
  };

  it.each(ENTRIES)('gets hold of no object of the thread by %s', async (_, calls) => {
    const script = `${HOSTILE}\n{${calls}}\nprintln('\\nmet:', met.length > 0);${WALK}`;
    expect(needsNode(script)).toBe(false);
    const { result, printed } = await run(script);
    expect(result).toEqual({ status: 'OK', startedProcesses: false });
    expect(printed.slice(printed.lastIndexOf('\nmet:'))).toMatch(
      /^\nmet: true\nforeign: \nobjects: \d{4,} true\n$/,
    );
  });

  it.each(ENDS)('which %s leaves nothing for the next', async (_, script) => {
    for (const kind of OF_ENDS) {
      const text = script.replace('HOSTILE', HOSTILE).replaceAll('variables_kind', `'${kind}'`);
      const { result } = await run(script.includes('HOSTILE') ? text : `${HOSTILE}\n${text}`);
      expect(result).toMatchObject({ startedProcesses: false });
    }
    expect(await run("println(typeof met, JSON.stringify([1]), readFile('model.mjcf').length)")).toEqual({
      result: { status: 'OK', startedProcesses: false },
      printed: `undefined [1] ${MODEL.content.length}\n`,
    });
    expect(mujoco.log()).toBe('');
  });
});

it('lets no hostile value reach the file calls of Node.js', () => {
  const folder = mkdtempSync(`${tmpdir()}/hostile-`);
  const files = new OpenHostFiles();
  const { hostile, met } = vm.runInNewContext(`${HOSTILE}; ({ hostile, met })`) as {
    hostile: Record<string, unknown>;
    met: unknown[];
  };
  try {
    const descriptor = files.open(`${folder}/none`, 'r');
    expect(descriptor).toBeLessThan(0);
    expect(files.makeFile(`${folder}/file`, 0o600)).toBe(0);
    const open = files.open(`${folder}/file`, 'r+');
    const isFine = (kind: string, value: unknown) =>
      typeof value === 'string' || kind.toLowerCase().includes('bytes') || kind === 'floats';
    const usual = (name: string): unknown[] => {
      if (name === 'read' || name === 'write') return [open, new Uint8Array(4), 0, 4, 0];
      if (name === 'open') return [`${folder}/file`, 'r+'];
      if (name === 'rename') return [`${folder}/file`, `${folder}/other`];
      if (name === 'size') return [open];
      return name === 'stat' || name === 'list' || name.startsWith('remove')
        ? [folder]
        : [`${folder}/file`, 0o600];
    };
    met.length = 0;
    for (const [name, called] of Object.entries(files) as [string, (...values: unknown[]) => unknown][]) {
      if (name === 'close') continue;
      for (const [kind, value] of Object.entries(hostile)) {
        for (const position of usual(name).keys()) {
          const values = usual(name);
          values[position] = value;
          const result = called(...values);
          const what = `${name}, ${kind} at ${position}`;
          expect(met, what).toEqual([]);
          if (!isFine(kind, value)) expect(`${what}: ${String(result)}`).toMatch(/: -\d+$/);
        }
      }
    }
  } finally {
    files.closeAll();
    rmSync(folder, { recursive: true });
  }
});
