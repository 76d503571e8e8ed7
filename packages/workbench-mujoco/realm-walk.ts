/** Script of tests about what scripts can get hold of. */

/**
 * Follows every property, accessor, prototype and thrown error that a script can get hold of, and prints the ways to objects
 * of another realm (their prototypes end at another Object.prototype) that could be changed or that compile code.
 */
export const WALK = `
  const own = new Set([Object.prototype, null]);
  const seen = new Set();
  const foreign = [];
  let shared = 0;
  const caught = (call) => { try { return call() } catch (error) { return error } };
  const overflow = () => { try { return overflow() } catch (error) { return error } };
  let sites;
  Error.prepareStackTrace = (_, trace) => { sites ??= [trace, ...trace]; return ''; };
  void new Error('x').stack;
  Error.prepareStackTrace = undefined;
  const ofMemory = (memory) => {
    const Foreign = Object.getPrototypeOf(Object.getPrototypeOf(memory.constructor)).constructor;
    const iterators = [Foreign.entries({ a: 1 }), Foreign.entries('abc')].map((array) => array[Symbol.iterator]());
    return iterators.map((iterator) => ['iterator of memory', Object.getPrototypeOf(iterator)]);
  };
  const queue = [
    ['root', (function () { return this })()],
    ['call sites', sites],
    ['error of a file', caught(() => readFile('nothing'))],
    ['error of a file name', caught(() => readFile(Symbol()))],
    ['error of the simulator', caught(() => mujoco.mj_step(null, null))],
    ['error of its model', caught(() => mujoco.MjModel.from_xml_string('no'))],
    ['error of its files', caught(() => mujoco.FS.readFile('/nothing/there'))],
    ['error of a full stack', overflow()],
    ['error of exit', caught(() => process.exit(1))],
    ['error of code', caught(() => [].constructor.constructor('return 1')())],
    ['error of println', caught(() => println({ get [Symbol.toStringTag]() { throw new Error('own') } }))],
    ['promise', Promise.resolve(1)],
    ['async function', async () => {}],
    ['generator', (function* () {})()],
    ['iterator', [][Symbol.iterator]()],
    ['matches', 'a'.matchAll(/a/g)],
  ].concat(typeof data === 'undefined' ? [] : [['positions', data.qpos], ['memory', data.qpos.buffer], ['option', model.opt], ...ofMemory(data.qpos.buffer)])
    .concat(typeof met === 'undefined' ? [] : met);
  const look = (way, value) => {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) return;
    seen.add(value);
    let top = value;
    for (let next = Object.getPrototypeOf(top); next !== null; next = Object.getPrototypeOf(next)) top = next;
    if (!own.has(top) && (typeof value === 'function' || Object.getPrototypeOf(value) !== null)) {
      shared += 1;
      // A thrown error is new; what it has in common with others is its prototype.
      if (Object.prototype.toString.call(value) === '[object Error]') { queue.push([way, Object.getPrototypeOf(value)]); return; }
      if (!Object.isFrozen(value) || (value.name === 'Func' + 'tion' && caught(() => value('return 1')()) === 1)) { foreign.push(way); return; }
    }
    queue.push([way + '.__proto__', Object.getPrototypeOf(value)]);
    if (ArrayBuffer.isView(value)) { queue.push([way + '.buffer', value.buffer]); return; }
    for (const key of Reflect.ownKeys(value)) {
      const { value: held, get, set } = Object.getOwnPropertyDescriptor(value, key) ?? {};
      const name = way + '.' + String(key);
      queue.push([name, held], [name, get], [name, set]);
      if (get) queue.push([name, caught(() => value[key])]);
    }
  };
  const known = new Set(typeof hostile === 'undefined' ? [] : Object.values(hostile));
  while (queue.length > 0) {
    const [way, value] = queue.pop();
    // A script's own value may fail whenever it is looked at.
    try { look(way, value) } catch (error) { if (!known.has(value)) foreign.push(way + ': ' + error) }
  }
  println('foreign:', foreign.join());
  println('objects:', seen.size, shared > 0);
`;
