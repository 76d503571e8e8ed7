/** JSON paths of RFC 9535, within what takes a time that grows linearly with the document. */

import { JSONPathEnvironment, JSONPathError, type JSONPathQuery, type JSONValue, jsonpath } from 'json-p3';
import { type MissingValue, missing, quoted } from '../core/studies/values/read-value.js';

/** Depth of a document below which `..` gives up. */
const MAX_DEPTH = 200;

const environment = new JSONPathEnvironment({ maxRecursionDepth: MAX_DEPTH });

type Expression = InstanceType<typeof jsonpath.expressions.FilterExpression>;

/** Parsed document, or the reason why there is none. */
export function parseJson(content: string, source: string): { readonly root: JSONValue } | MissingValue {
  try {
    return { root: JSON.parse(content) as JSONValue };
  } catch (error) {
    if (content.trim() === '') return missing(`${source} is empty`);
    if (/[:[,]\s*-?(?:NaN|Infinity)\b/.test(content)) {
      return missing(`${source} is no JSON: it has NaN or Infinity, which JSON has only as a text: "NaN"`);
    }
    return missing(`${source} is no JSON: ${sentencePart(error)}`);
  }
}

/** Fault of a path, written as "must …"; undefined for none. */
export function jsonPathFault(path: string): string | undefined {
  const compiled = compile(path);
  return typeof compiled === 'string' ? compiled : undefined;
}

/** The one node that a path leads to. */
export function findNode(
  path: string,
  root: JSONValue,
  source: string,
): { readonly node: JSONValue } | MissingValue {
  const query = compile(path);
  if (typeof query === 'string') return missing(`the path ${query}`);
  try {
    const nodes = query.lazyQuery(root);
    const first = nodes.next();
    if (first.done) return missing(`${quoted(path)} is not in ${source}`);
    if (nodes.next().done) return { node: first.value.value };
    return missing(`${quoted(path)} is more than one node of ${source}; it must be exactly one`);
  } catch (error) {
    if (error instanceof JSONPathError || error instanceof RangeError) {
      return missing(
        `${source} is nested too deeply for ${quoted(path)}; ".." goes ${MAX_DEPTH} levels deep`,
      );
    }
    throw error;
  }
}

function compile(path: string): JSONPathQuery | string {
  if (!path.startsWith('$')) return 'must begin with "$"';
  if (path.trimEnd() !== path) return 'must not end with a blank';
  try {
    const query = environment.compile(path);
    return costFault(query) ?? query;
  } catch (error) {
    if (!(error instanceof JSONPathError)) throw error;
    const reason = error.message.replace(/ \('.*':\d+\)$/s, '');
    return `must be a JSON path (RFC 9535): ${reason}, at character ${error.token.index + 1}`;
  }
}

/**
 * Fault of a path that could visit a node more than once. Several `..`, several names in one pair of brackets, and queries in
 * filters multiply; a name, an index, a slice, `*` and one `..` do not.
 */
function costFault({ segments }: JSONPathQuery): string | undefined {
  const { FilterSelector } = jsonpath.selectors;
  if (segments.filter((segment) => segment.toString().startsWith('..')).length > 1) {
    return 'must have ".." at most once';
  }
  if (segments.some(({ selectors }) => selectors.length > 1)) {
    return 'must have one selector in each pair of brackets';
  }
  return segments
    .flatMap(({ selectors }) => selectors)
    .map((selector) => (selector instanceof FilterSelector ? filterFault(selector.expression) : undefined))
    .find((fault) => fault !== undefined);
}

/** Fault of a filter; `match` and `search` would try any pattern by an engine without a bound of time. */
function filterFault(expression: Expression): string | undefined {
  const kinds = jsonpath.expressions;
  if (expression instanceof kinds.LogicalExpression) return filterFault(expression.expression);
  if (expression instanceof kinds.PrefixExpression) return filterFault(expression.right);
  if (expression instanceof kinds.InfixExpression) {
    return filterFault(expression.left) ?? filterFault(expression.right);
  }
  if (expression instanceof kinds.FunctionExtension) {
    if (expression.name !== 'length') return `must not use ${expression.name}() in a filter`;
    return expression.args.map(filterFault).find((fault) => fault !== undefined);
  }
  if (!(expression instanceof kinds.FilterQuery)) return undefined;
  return expression instanceof kinds.RelativeQuery && expression.path.singularQuery()
    ? undefined
    : 'must have only paths of "@", names and indexes in a filter, such as @.id';
}

/** Message of a parser in one line of moderate length. */
function sentencePart(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replaceAll(/\s+/g, ' ').slice(0, 200);
}
