/**
 * Configuration: a YAML file and the environment become one typed value, or a list of faults, one line each.
 * A key's environment name is the prefix and its path in capitals: `server.publicUrl` is PREFIX_SERVER_PUBLIC_URL.
 */
import { readFileSync } from 'node:fs';
import { parseDocument, parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { describeIssue } from './validation-errors.js';

export interface ConfigSource<Schema extends z.ZodType> {
  readonly schema: Schema;
  /** Path of the YAML file; null for the defaults. */
  readonly file: string | null;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** For example `WORKBENCH_HUB`. */
  readonly environmentPrefix: string;
}

export type LoadedConfig<T> = { readonly config: T } | { readonly faults: readonly string[] };

export function loadConfig<Schema extends z.ZodType>(
  source: ConfigSource<Schema>,
): LoadedConfig<z.output<Schema>> {
  const origin = source.file ?? 'configuration';
  const read = source.file === null ? { value: {} } : readYaml(source.file);
  if ('faults' in read) return read;

  const origins = new Map<string, string>();
  for (const leaf of leavesOf(source.schema)) {
    const name = `${source.environmentPrefix}_${leaf.path.map(environmentName).join('_')}`;
    const text = source.environment[name];
    if (text === undefined) continue;
    const fault = setAt(read.value, leaf.path, valueOfText(text, leaf.schema));
    if (fault) return { faults: [`${origin}: ${fault}`] };
    origins.set(leaf.path.join('.'), `environment variable ${name}`);
  }

  const parsed = source.schema.safeParse(read.value);
  if (parsed.success) return { config: parsed.data };
  const faults = parsed.error.issues.flatMap((issue) =>
    describeIssue(issue, read.value, source.schema).map(({ path, text }) => {
      const from = [...origins].find(
        ([key]) => path === key || path.startsWith(`${key}.`) || path.startsWith(`${key}[`),
      );
      return `${from?.[1] ?? origin}: ${text}`;
    }),
  );
  return { faults };
}

type Tree = Record<string, unknown>;

function readYaml(file: string): { value: Tree } | { faults: string[] } {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return {
      faults: [`${file}: ${code === 'ENOENT' ? 'there is no such file' : `cannot be read (${code})`}`],
    };
  }
  const document = parseDocument(text);
  if (document.errors.length > 0) {
    return {
      faults: document.errors.map((error) => `${file}: ${error.message.split('\n')[0]?.replace(/:$/, '')}`),
    };
  }
  let value: unknown;
  try {
    value = document.toJS() ?? {};
  } catch (error) {
    // An alias without its anchor is only detected here.
    return { faults: [`${file}: ${(error as Error).message}`] };
  }
  if (!isTree(value))
    return { faults: [`${file}: must hold keys and values, found ${JSON.stringify(value)}`] };
  return { value };
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface Leaf {
  readonly path: readonly string[];
  readonly schema: z.ZodType;
}

function leavesOf(schema: z.ZodType, path: readonly string[] = []): Leaf[] {
  const inner = unwrap(schema);
  if (!(inner instanceof z.ZodObject)) return [{ path, schema }];
  const leaves = Object.entries(inner.shape).flatMap(([key, member]) =>
    leavesOf(member as z.ZodType, [...path, key]),
  );
  return path.length === 0 ? leaves : [{ path, schema }, ...leaves];
}

function unwrap(schema: z.ZodType): z.ZodType {
  let inner: z.core.$ZodType = schema;
  while (
    inner instanceof z.ZodDefault ||
    inner instanceof z.ZodPrefault ||
    inner instanceof z.ZodOptional ||
    inner instanceof z.ZodNullable
  ) {
    inner = inner.def.innerType;
  }
  return inner as z.ZodType;
}

function environmentName(key: string): string {
  return key.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toUpperCase();
}

/** The text itself where the key accepts it, otherwise its value as YAML. */
function valueOfText(text: string, schema: z.ZodType): unknown {
  if (schema.safeParse(text).success) return text;
  try {
    return parseYaml(text);
  } catch {
    return text;
  }
}

function setAt(tree: Tree, path: readonly string[], value: unknown): string | undefined {
  let at = tree;
  for (const key of path.slice(0, -1)) {
    at[key] ??= {};
    const next = at[key];
    if (!isTree(next)) return `${path.join('.')}: its parent ${key} must hold keys and values`;
    at = next;
  }
  at[path[path.length - 1] as string] = value;
  return undefined;
}
