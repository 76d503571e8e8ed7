import { Link } from 'wouter';
import { Fact } from '../../../design/fact.js';
import { Icon } from '../../../icons/icon.js';
import { useWords } from '../../../words/dictionary.js';
import type { Draft } from '../../new-job/draft.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const ROLES = ['MODEL', 'SCRIPT', 'FILE'] as const;

/** The job that runs at every point, with the way back to its form. */
export function JobCard({ job }: { readonly job: Draft }) {
  const words = useWords<typeof en>({ en, de });
  const { files, version, labels, hostPath, timeLimitS } = job;
  const wants = [version, ...labels].filter((each) => each !== '');
  return (
    <section className="card facts" aria-labelledby="study-job-title">
      <div className="new-study-head">
        <h2 id="study-job-title">{words.job}</h2>
        <Link href="/new" className="button plain">
          {words.changeJob}
        </Link>
      </div>
      <dl>
        {ROLES.map((role) => {
          const paths = files.filter((file) => file.role === role).map(({ path }) => path);
          if (role === 'MODEL' && hostPath !== '') paths.push(hostPath);
          return (
            paths.length > 0 && (
              <Fact key={role} label={words.roles[role]}>
                {paths.map((path) => (
                  <span key={path} className="new-study-path">
                    <Icon name={role === 'SCRIPT' ? 'file-code' : 'file'} size={14} />
                    {path}
                  </span>
                ))}
              </Fact>
            )
          );
        })}
        {wants.length > 0 && (
          <Fact label={words.wants}>
            <span className="tags">
              {wants.map((each) => (
                <span key={each} className="tag">
                  {each}
                </span>
              ))}
            </span>
          </Fact>
        )}
        {timeLimitS !== '' && <Fact label={words.timeLimit}>{timeLimitS} s</Fact>}
      </dl>
    </section>
  );
}
