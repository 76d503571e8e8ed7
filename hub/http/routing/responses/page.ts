/** Pages of lists (contract 5.1). */
import { z } from 'zod';

export interface Page<T> {
  readonly content: readonly T[];
  readonly pageSize: number;
  readonly pageNumber: number;
  readonly totalElements: number;
  readonly totalPages: number;
  readonly size: number;
  readonly first: boolean;
  readonly last: boolean;
}

interface PageRequest {
  readonly page: number;
  readonly size: number;
}

/** Page of items that were selected by the store. */
export function pageOf<T>(
  content: readonly T[],
  totalElements: number,
  { page, size }: PageRequest,
): Page<T> {
  const totalPages = Math.ceil(totalElements / size);
  return {
    content,
    pageSize: size,
    pageNumber: page,
    totalElements,
    totalPages,
    size: content.length,
    first: page === 0 || totalElements === 0,
    last: page >= totalPages - 1,
  };
}

/** Page cut out of all items. */
export function pageFrom<T>(items: readonly T[], request: PageRequest): Page<T> {
  const start = request.page * request.size;
  return pageOf(items.slice(start, start + request.size), items.length, request);
}

/** Schema of a page of such items; `name` is its name in the OpenAPI document. */
export function pageSchema<Item extends z.ZodType>(item: Item, name: string) {
  return z
    .object({
      content: z.array(item).meta({ description: 'Items of this page.' }),
      pageSize: z.int().meta({ description: 'Maximum number of items on a page.', example: 20 }),
      pageNumber: z.int().meta({ description: 'Number of this page, counted from 0.', example: 0 }),
      totalElements: z.int().meta({ description: 'Number of all items.', example: 1 }),
      totalPages: z.int().meta({ description: 'Number of pages.', example: 1 }),
      size: z.int().meta({ description: 'Number of items on this page.', example: 1 }),
      first: z.boolean().meta({ description: 'True on the first page, and when there are no items.' }),
      last: z.boolean().meta({ description: 'True on the last page and after it.' }),
    })
    .meta({ id: name });
}
