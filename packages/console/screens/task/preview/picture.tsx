import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Loading, NoData } from '../../../design/states.js';
import { Icon } from '../../../icons/icon.js';
import { useWords } from '../../../words/dictionary.js';
import { endingOf } from './kind.js';
import type { PreviewedFile } from './previewed-file.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const TYPES: Readonly<Record<string, string>> = {
  svg: 'image/svg+xml',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
};

/** An image. SVG too is nothing but an image: inside `<img>`, where browsers run none of its scripts and load nothing for it. */
export function Picture({ file }: { readonly file: PreviewedFile }) {
  const words = useWords<typeof en>({ en, de });
  const type = TYPES[endingOf(file.name)] ?? '';
  const query = useQuery({
    queryKey: ['preview', file.key, 'picture'],
    queryFn: async ({ signal }) => new Blob([await (await file.fetch(signal)).blob()], { type }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const url = useImageUrl(query.data);
  const [isBad, setBad] = useState(false);
  if (query.data === undefined) return <NoData query={query} lines={4} />;
  if (isBad) {
    return (
      <p className="notice of-failed">
        <Icon name="circle-x" />
        <span>{words.badImage}</span>
      </p>
    );
  }
  if (url === undefined) return <Loading lines={4} />;
  return (
    <div className="picture" tabIndex={0} role="group" aria-label={file.name}>
      <img src={url} alt={file.name} onError={() => setBad(true)} />
    </div>
  );
}

/** Address of an image. An SVG gets one that browsers open in no tab, since it would be a page there. */
function useImageUrl(blob: Blob | undefined): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (blob === undefined) return;
    if (blob.type === 'image/svg+xml') {
      const reader = new FileReader();
      reader.onload = () => setUrl(reader.result as string);
      reader.readAsDataURL(blob);
      return () => reader.abort();
    }
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return url;
}
