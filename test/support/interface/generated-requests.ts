/** Generated requests: some that the document nearly allows, and some that are arbitrary. */
import fc from 'fast-check';
import type { JsonSchema, Operation, Parameter } from './openapi-operations.js';

export interface GeneratedRequest {
  readonly method: string;
  /** The path on the wire, with its query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | undefined;
}

/** Ids that exist. */
export interface KnownIds {
  /** Ended tasks, whose results are returned at once. */
  readonly ended: readonly string[];
  readonly waiting: readonly string[];
  readonly instances: readonly string[];
  readonly agents: readonly string[];
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'QUERY'];
const CURIOUS_TEXTS = [
  '',
  ' ',
  '*',
  '?',
  '%',
  '\0',
  '\\',
  '../..',
  "'; --",
  '__proto__',
  'constructor',
  '🔧',
  'null',
  '-0',
];

/** Characters of a request line; the client refuses to send others. */
const onTheWire = fc.string({ unit: fc.constantFrom(...wireCharacters()), maxLength: 40 });
const text = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: 30 }) },
  { weight: 2, arbitrary: fc.constantFrom(...CURIOUS_TEXTS) },
  { weight: 1, arbitrary: fc.string({ minLength: 990, maxLength: 1010 }) },
);
const number = fc.oneof(
  fc.integer({ min: -2, max: 30 }),
  fc.constantFrom(2000, 2001, 86_400, 86_401, 2 ** 31, 2 ** 53 - 1, 2 ** 53, 1e21, -0, 0.5),
);

/** A request that fits one of these operations more or less. */
export function requestFor(operation: Operation, ids: KnownIds): fc.Arbitrary<GeneratedRequest> {
  return fc.record({
    method: mostly(fc.constant(operation.method), fc.constantFrom(...METHODS), 20),
    target: fc
      .tuple(pathOf(operation, ids), queryOf(operation))
      .map(([path, query]) => (query === '' ? path : `${path}?${query}`)),
    headers: mostly(fc.constant({}), headers, 5),
    body: operation.body ? bodyOf(operation.body) : mostly(fc.constant(undefined), bodyOf({}), 20),
  });
}

/** A request for any path. */
export function requestForAnything(): fc.Arbitrary<GeneratedRequest> {
  const prefix = fc.constantFrom(
    '',
    'api',
    'api/2.0/',
    'api/1.0/workbench/',
    'docs/',
    'actuator/',
    'agent/files/',
    '/',
  );
  return fc.record({
    method: fc.constantFrom(...METHODS),
    target: fc.tuple(prefix, onTheWire).map(([start, rest]) => `/${start}${rest}`),
    headers,
    body: fc.oneof(fc.constant(undefined), bodyOf({})),
  });
}

function pathOf({ path, parameters }: Operation, ids: KnownIds): fc.Arbitrary<string> {
  const { ended, waiting, instances, agents } = ids;
  const waits = parameters.some(({ name }) => name === 'timeout');
  const known = [...ended, ...(waits ? [] : waiting), ...instances, ...agents];
  const names = parameters.filter((parameter) => parameter.in === 'path');
  const likely = path.includes('/instance/') ? instances : /agent|server/.test(path) ? agents : known;
  const value = ({ schema }: Parameter) =>
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...(schema.enum ?? likely)) },
      { weight: 1, arbitrary: fc.constantFrom(...known) },
      { weight: 1, arbitrary: text.filter((found) => found !== '').map(encodeText) },
      { weight: 1, arbitrary: onTheWire.map((found) => found.replaceAll(/[/?#]/g, '_') || '_') },
    );
  return fc.tuple(...names.map(value)).map((values) => {
    let at = 0;
    return path.replaceAll(/\{\w+\}/g, () => values[at++] ?? '');
  });
}

function queryOf({ parameters }: Operation): fc.Arbitrary<string> {
  const query = parameters.filter((parameter) => parameter.in === 'query');
  const pair = ({ name, schema }: Parameter) =>
    mostly(likeSchema(schema).map(String), text, 4).map((value) => `${name}=${encodeText(value)}`);
  const given = fc.oneof(...query.map((parameter) => ({ weight: 6, arbitrary: pair(parameter) })), {
    weight: 1,
    arbitrary: onTheWire.map((found) => found.replaceAll('#', '')),
  });
  return fc.array(given, { maxLength: 4 }).map((pairs) => pairs.join('&'));
}

const headers: fc.Arbitrary<Record<string, string>> = fc.dictionary(
  fc.constantFrom(
    'accept',
    'authorization',
    'content-type',
    'cookie',
    'if-none-match',
    'origin',
    'range',
    'x-forwarded-for',
  ),
  fc.oneof(
    fc.constantFrom(
      'application/json',
      'text/plain; charset=utf-16',
      'multipart/form-data',
      'Bearer x',
      'refreshToken=x',
    ),
    fc.constantFrom(
      'bytes=0-0',
      'bytes=-5',
      'bytes=9-',
      'bytes=5-2',
      'bytes=0-1,3-4',
      'bytes=x',
      'bytes=99999999-',
      'lines=1-2',
    ),
    onTheWire,
  ),
  { maxKeys: 3 },
);

function bodyOf(schema: JsonSchema): fc.Arbitrary<string | Buffer | undefined> {
  const json = (value: unknown) => JSON.stringify(value);
  return fc.oneof(
    { weight: 10, arbitrary: likeSchema(schema).map(json) },
    { weight: 3, arbitrary: fc.jsonValue({ maxDepth: 3 }).map(json) },
    { weight: 1, arbitrary: text },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)) },
    { weight: 1, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constant('['.repeat(20_000)) },
  );
}

/** A value that the schema nearly allows. */
function likeSchema(schema: JsonSchema): fc.Arbitrary<unknown> {
  return mostly(fittingOf(schema), fc.jsonValue({ maxDepth: 1 }), 12);
}

function fittingOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  if (schema.oneOf) return fc.oneof(...schema.oneOf.map(fittingOf));
  switch (schema.type) {
    case 'object': {
      const properties = schema.properties ?? {};
      const members = Object.fromEntries(
        Object.entries(properties).map(([name, member]) => [name, likeSchema(member)]),
      );
      return mostly(
        fc.record(members, { requiredKeys: [...(schema.required ?? [])] }),
        fc.record(members, { requiredKeys: [] }),
        8,
      );
    }
    case 'array':
      return fc.array(likeSchema(schema.items ?? {}), { minLength: schema.minItems ?? 0, maxLength: 4 });
    case 'integer':
    case 'number': {
      const { minimum = -5, maximum = 2 ** 53 - 1 } = schema;
      return fc.oneof(
        fc.integer({ min: minimum, max: Math.min(maximum, minimum + 50) }),
        fc.constant(maximum),
        number,
      );
    }
    case 'boolean':
      return fc.boolean();
    default:
      return fittingText(schema);
  }
}

function fittingText({ enum: values, format, pattern }: JsonSchema): fc.Arbitrary<string> {
  if (values) return fc.constantFrom(...values, ...values.map((value) => value.toLowerCase()));
  if (format === 'byte') return fc.base64String({ maxLength: 40 });
  if (pattern !== undefined) return fc.constantFrom('WBPZ', 'mjcf', '3DM');
  return fc.oneof(text, fc.constantFrom('pathToFile', '/a/b', 'a/b.txt', 'gears', '9.*', 'HIGH', 'x'));
}

/** `likely`, and once in a while `other`. */
function mostly<A, B>(likely: fc.Arbitrary<A>, other: fc.Arbitrary<B>, oneIn: number): fc.Arbitrary<A | B> {
  return fc.oneof({ weight: oneIn - 1, arbitrary: likely }, { weight: 1, arbitrary: other });
}

/** Like encodeURIComponent, also for half a surrogate pair. */
function encodeText(value: string): string {
  return encodeURIComponent(value.toWellFormed());
}

function wireCharacters(): string[] {
  const printable = Array.from({ length: 94 }, (_, at) => String.fromCharCode(0x21 + at));
  return [...printable, '%00', '%2F', '%ff', '%C3%A4', '/', '/', '.', '..', '&', '=', '%'];
}
