/** The configuration page has every key of hub and agent, and no other. */
import { readFileSync } from 'node:fs';
import { agentConfigSchema } from '@workbench-hub/agent/config';
import { hubConfigSchema } from '@workbench-hub/hub/config';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const page = readFileSync(new URL('../../packages/docs/configuration.md', import.meta.url), 'utf8');

/** Key paths with dots, those of list items without the list's name. */
function keysOf(schema: z.core.$ZodType, path = ''): string[] {
  if ('innerType' in schema._zod.def) return keysOf(schema._zod.def.innerType as z.core.$ZodType, path);
  if (schema instanceof z.ZodArray && schema.element instanceof z.ZodObject) {
    return [path, ...keysOf(schema.element)];
  }
  if (schema instanceof z.ZodUnion) {
    const groups = schema.options.filter((option) => option instanceof z.ZodObject);
    return [path, ...groups.flatMap((group) => keysOf(group, path))];
  }
  if (!(schema instanceof z.ZodObject)) return [path];
  return Object.entries(schema.shape).flatMap(([key, member]) =>
    keysOf(member as z.core.$ZodType, path === '' ? key : `${path}.${key}`),
  );
}

function keysInPage(from: string, to: string): string[] {
  const section = page.slice(page.indexOf(from), to === '' ? undefined : page.indexOf(to));
  return [...section.matchAll(/^\| ((?:`[\w.]+`(?:, )?)+) \|/gm)].flatMap(([, keys]) =>
    String(keys).replaceAll('`', '').split(', '),
  );
}

describe('the configuration page', () => {
  it('has the keys of the hub and its instances', () => {
    const rows = [...keysInPage('## Hub', '\n## Agent'), ...keysInPage('## Instances', '')];
    const keys = [...new Set(rows)];
    expect(keys.sort()).toEqual([...new Set(keysOf(hubConfigSchema))].sort());
  });

  it('has the keys of the agent and its instances', () => {
    expect(keysInPage('## Agent', '\n## Hosts').sort()).toEqual(keysOf(agentConfigSchema).sort());
  });
});
