import { useQuery } from '@tanstack/react-query';
import { type ComponentType, lazy, Suspense, useEffect, useRef } from 'react';
import { usePreferences } from '../../../base/preference-store.js';
import { Loading, NoData } from '../../../design/states.js';
import { Icon } from '../../../icons/icon.js';
import { useWords } from '../../../words/dictionary.js';
import { sizeText } from '../../../words/formats.js';
import { textBeginning } from '../text-beginning.js';
import { MAX_BYTES, type PreviewKind, previewKindOf } from './kind.js';
import type { PreviewedFile } from './previewed-file.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const Picture = lazy(async () => ({ default: (await import('./picture.js')).Picture }));
const Json = lazy(async () => ({ default: (await import('./json-text.js')).JsonText }));
const Values = lazy(async () => ({ default: (await import('./values.js')).Values }));
/** With the library for 3-D, which few visits need. */
const Solid = lazy(async () => ({ default: (await import('./solid.js')).Solid }));

const VIEWS: Readonly<Record<PreviewKind, ComponentType<{ readonly file: PreviewedFile }>>> = {
  table: Values,
  json: Json,
  image: Picture,
  vector: Picture,
  solid: Solid,
  text: PlainText,
};

interface PreviewProps {
  readonly file: PreviewedFile;
  readonly onClose: () => void;
}

/** The content of a file, as far as a browser can show it without running anything. */
export function Preview({ file, onClose }: PreviewProps) {
  const words = useWords<typeof en>({ en, de });
  const kind = previewKindOf(file.name);
  const View = VIEWS[kind];
  const section = useRef<HTMLElement>(null);
  // In braces: newer browsers return a promise, which is no way to undo an effect.
  useEffect(() => {
    section.current?.scrollIntoView({ block: 'nearest' });
  }, []);
  return (
    <section className="preview" ref={section} aria-label={words.show(file.name)}>
      <header className="preview-head">
        <h2>{file.name}</h2>
        <button type="button" className="button plain only-icon" aria-label={words.close} onClick={onClose}>
          <Icon name="x" />
        </button>
      </header>
      <Suspense fallback={<Loading lines={4} />}>
        {file.size === 0 ? (
          <p className="faint">{words.empty}</p>
        ) : isTooLarge(file, kind) ? (
          <TooLarge file={file} kind={kind} />
        ) : (
          <View key={file.key} file={file} />
        )}
      </Suspense>
    </section>
  );
}

function isTooLarge({ size }: PreviewedFile, kind: PreviewKind): kind is keyof typeof MAX_BYTES {
  return kind in MAX_BYTES && size > MAX_BYTES[kind as keyof typeof MAX_BYTES];
}

interface TooLargeProps {
  readonly file: PreviewedFile;
  readonly kind: keyof typeof MAX_BYTES;
}

/** A long text shows its beginning; other files say how large they may be. */
function TooLarge({ file, kind }: TooLargeProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  if (kind === 'json') return <PlainText file={file} />;
  return (
    <p className="faint">
      {words.tooLarge(sizeText(file.size, language), sizeText(MAX_BYTES[kind], language))}
    </p>
  );
}

/** The beginning of a file as text, whatever its name says. */
function PlainText({ file }: { readonly file: PreviewedFile }) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const query = useQuery({
    queryKey: ['preview', file.key, 'text'],
    queryFn: async ({ signal }) => textBeginning(await file.fetch(signal)),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const { data } = query;
  if (data === undefined) return <NoData query={query} lines={4} />;
  if (data.text === undefined) return <p className="faint">{words.notText}</p>;
  return (
    <>
      <pre className="code" tabIndex={0}>
        {data.text}
      </pre>
      {data.isCut && <p className="faint">{words.firstPart(sizeText(data.bytes, language))}</p>}
    </>
  );
}
