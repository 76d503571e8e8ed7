import { useQuery } from '@tanstack/react-query';
import { api } from '@workbench-hub/client';
import { usePreferences } from '../../base/preference-store.js';
import { hub } from '../../data/hub.js';
import { Fact } from '../../design/fact.js';
import { NoData } from '../../design/states.js';
import { UseBar } from '../../design/use-bar.js';
import { useWords } from '../../words/dictionary.js';
import { sizeText } from '../../words/formats.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const EVERY_MS = 5000;
/** Part that is used, above which a bar warns. */
const SCARCE = 0.9;

/** The hub and its machine at present. */
export function Server() {
  const words = useWords<typeof en>({ en, de });
  const query = useQuery({
    queryKey: ['server-info'],
    refetchInterval: EVERY_MS,
    queryFn: async ({ signal }) =>
      (await api.getServerInfo({ client: hub.client, signal, throwOnError: true })).data,
  });
  const { data } = query;
  if (!data) return <NoData query={query} lines={8} />;
  const { systemInfo: system, memoryInfo, diskSpaceInfo } = data;
  return (
    <div className="server">
      <section className="card facts" aria-labelledby="server-use">
        <h2 id="server-use">{words.machine}</h2>
        <Bar
          label={words.memory}
          total={memoryInfo.max}
          used={memoryInfo.used}
          free={memoryInfo.max - memoryInfo.used}
        />
        <Bar label={words.disk} {...diskSpaceInfo} />
        <dl>
          <Fact label={words.facts.system}>
            {system.osName} {system.osVersion} ({system.osArchitecture})
          </Fact>
          <Fact label={words.facts.account}>{system.userName}</Fact>
          <Fact label={words.facts.zone}>{system.userTimezone}</Fact>
          <Fact label={words.facts.serverTime}>{system.serverTime}</Fact>
        </dl>
      </section>
      <section className="card facts" aria-labelledby="server-hub">
        <h2 id="server-hub">{words.hub}</h2>
        <dl>
          <Fact label={words.facts.version}>{system.version}</Fact>
          <Fact label={words.facts.revision}>{system.revision}</Fact>
          <Fact label={words.facts.buildDate}>{system.buildDate}</Fact>
          <Fact label={words.facts.uptime}>{system.uptime}</Fact>
          <Fact label={words.facts.runtime}>{system.javaVersion}</Fact>
          <Fact label={words.facts.folder}>
            <code>{system.userDir}</code>
          </Fact>
          {system.inputArguments.length > 0 && (
            <Fact label={words.facts.arguments}>
              <code>{system.inputArguments.join(' ')}</code>
            </Fact>
          )}
        </dl>
      </section>
    </div>
  );
}

interface BarProps {
  readonly label: string;
  /** Bytes. */
  readonly total: number;
  readonly used: number;
  readonly free: number;
}

/** Share that is used. */
function Bar({ label, total, used, free }: BarProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const isScarce = used / Math.max(total, 1) > SCARCE;
  return (
    <UseBar
      label={label}
      used={used}
      total={Math.max(total, 1)}
      isScarce={isScarce}
      text={words.used(sizeText(used, language), sizeText(total, language))}
      more={words.free(sizeText(free, language))}
    />
  );
}
