// npm run generate-icons: takes the icons that the console uses out of lucide, whose 5000 files nobody needs who only runs a hub.
// Add a name to packages/console/icons/names.json first.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../packages/console/icons', import.meta.url));
const lucide = dirname(createRequire(import.meta.url).resolve('lucide-react/package.json'));
const { version } = JSON.parse(readFileSync(join(lucide, 'package.json'), 'utf8'));
const names = JSON.parse(readFileSync(join(folder, 'names.json'), 'utf8'));

async function shapesOf(name) {
  const { __iconData } = await import(join(lucide, `dist/esm/icons/${name}.mjs`));
  return __iconData.node.map(([tag, { key, ...attributes }]) => [tag, attributes]);
}

const icons = {};
for (const name of names.toSorted()) icons[name] = await shapesOf(name);
writeFileSync(
  join(folder, 'shapes.ts'),
  `/** Shapes of icons, generated from lucide ${version} (ISC License, Copyright (c) Lucide Icons and Contributors) by
 *  \`npm run generate-icons\`. */
export const SHAPES = ${JSON.stringify(icons, null, 2)} as const;
`,
);
