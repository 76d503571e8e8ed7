const PAGE_SIZE = 500;

interface Page<T> {
  readonly content: readonly T[];
  readonly totalPages: number;
}

/** Items of all pages of a list. */
export async function allPages<T>(
  fetchPage: (query: { page: number; size: number }) => Promise<{ readonly data: Page<T> }>,
): Promise<readonly T[]> {
  const all: T[] = [];
  for (let page = 0; ; page++) {
    const { data } = await fetchPage({ page, size: PAGE_SIZE });
    all.push(...data.content);
    if (page + 1 >= data.totalPages) return all;
  }
}
