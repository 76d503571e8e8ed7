import { type ReactNode, useState } from 'react';
import { Icon } from '../icons/icon.js';
import { useCommonWords } from '../words/common.js';
import { useWords } from '../words/dictionary.js';

const en = { once: 'It is shown only now. Copy it before you close this.', close: 'I have it: close' };
const de: typeof en = {
  once: 'Er wird nur jetzt gezeigt. Kopieren Sie ihn, bevor Sie schließen.',
  close: 'Ich habe ihn: schließen',
};

interface SecretOnceProps {
  readonly title: string;
  readonly secret: string;
  /** Purpose. */
  readonly children: ReactNode;
  readonly onClose: () => void;
}

/** A secret that the hub tells once, to be copied. */
export function SecretOnce({ title, secret, children, onClose }: SecretOnceProps) {
  const words = useWords<typeof en>({ en, de });
  const common = useCommonWords();
  const [isCopied, setCopied] = useState(false);
  return (
    <section className="card secret-once of-finished" aria-label={title} role="status">
      <h2>
        <Icon name="circle-check" /> {title}
      </h2>
      <div className="secret-line">
        <input
          className="input mono"
          readOnly
          aria-label={title}
          value={secret}
          onFocus={(event) => event.target.select()}
        />
        {navigator.clipboard && (
          <button
            type="button"
            className="button primary"
            onClick={() => void navigator.clipboard.writeText(secret).then(() => setCopied(true))}
          >
            <Icon name={isCopied ? 'check' : 'copy'} />
            {isCopied ? common.copied : common.copy}
          </button>
        )}
      </div>
      <p>{words.once}</p>
      {children}
      <button type="button" className="button" onClick={onClose}>
        {words.close}
      </button>
    </section>
  );
}
