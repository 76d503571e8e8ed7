/** `/docs`: the OpenAPI document in a browser, by Swagger UI. All its files are served by the hub. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Handler } from 'hono';
import { OPENAPI_PATH } from './openapi.js';

const DOCS_PATH = '/docs';

const require = createRequire(import.meta.url);
const VIEWER = dirname(require.resolve('swagger-ui-dist/package.json'));

const PAGE = `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Workbench Hub: REST interface</title>
  <link rel="icon" type="image/png" href="${DOCS_PATH}/favicon-32x32.png">
  <link rel="stylesheet" href="${DOCS_PATH}/swagger-ui.css">
</head>
<body>
  <div id="docs"></div>
  <script src="${DOCS_PATH}/swagger-ui-bundle.js"></script>
  <script src="${DOCS_PATH}/start.js"></script>
</body>
</html>
`;

const START = `SwaggerUIBundle({
  url: ${JSON.stringify(OPENAPI_PATH)},
  dom_id: '#docs',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
});
`;

/** Files of the package that the page loads, with their types. */
const ASSETS: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};

/** Adds the routes of the page. */
export function serveDocs(get: (path: string, handler: Handler) => void): void {
  const html = { 'content-type': 'text/html; charset=utf-8' };
  get(DOCS_PATH, (context) => context.body(PAGE, 200, html));
  get(`${DOCS_PATH}/start.js`, (context) => context.body(START, 200, { 'content-type': 'text/javascript' }));
  for (const [name, type] of Object.entries(ASSETS)) {
    // One copy for all clients, also for those that do not read it.
    let content: Promise<Buffer<ArrayBuffer>> | undefined;
    get(`${DOCS_PATH}/${name}`, async (context) => {
      content ??= readFile(join(VIEWER, name));
      return context.body(await content, 200, {
        'content-type': type,
        'cache-control': 'public, max-age=86400',
      });
    });
  }
}
