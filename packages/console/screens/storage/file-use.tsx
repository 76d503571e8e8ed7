import { useQuery } from '@tanstack/react-query';
import { api } from '@workbench-hub/client';
import { hub } from '../../data/hub.js';
import { NoData } from '../../design/states.js';
import { TaskLinks } from '../../design/task-links.js';
import { useWords } from '../../words/dictionary.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const COLUMNS = 6;

/** A row with the tasks that use a file. */
export function FileUse({ name }: { readonly name: string }) {
  const words = useWords<typeof en>({ en, de });
  const query = useQuery({
    queryKey: ['storage', 'use', name],
    queryFn: async ({ signal }) =>
      (await api.listTasksOfInput({ client: hub.client, path: { name }, signal, throwOnError: true })).data,
  });
  const { data } = query;
  return (
    <tr className="file-use">
      <td colSpan={COLUMNS}>
        <NoData query={query} lines={2} />
        {data?.tasks.length === 0 && <p className="faint">{words.noUse}</p>}
        {data && data.tasks.length > 0 && <TaskLinks tasks={data.tasks} label={`${words.use}: ${name}`} />}
        {data?.more && <p className="faint">{words.moreUse}</p>}
      </td>
    </tr>
  );
}
