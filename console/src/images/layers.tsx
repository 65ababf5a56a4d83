// Layers of one platform, with size and command.

import { type ReactNode, useState } from "react";
import { useAddress, withParameters } from "../address.ts";
import { useAsk } from "../api.ts";
import { shortDigest, sizeText } from "../format.ts";
import { type Column, Copy, Empty, Failure, Link, Name, Section, Skeleton, Table } from "../parts.tsx";
import { texts } from "../texts/images.ts";
import { type Layer, layersOf } from "./registry.ts";

interface LayersProps {
  readonly repoUid: string;
  /** Digest of the platform's manifest. */
  readonly digest: string;
}

/** "/bin/sh -c #(nop) COPY …": "COPY …", as build tools write them. */
const shortCommand = (command: string): string =>
  command
    .replace(/^\/bin\/sh -c #\(nop\)\s*/, "")
    .replace(/^(?:RUN )?\|?\d* ?\/bin\/sh -c /, "RUN ")
    .replace(/\s*# buildkit$/, "");

const columnsAt = (url: URL): readonly Column<Layer>[] => [
  { title: texts.layer, cell: ({ uid }) => texts.layerNumber(Number(uid) + 1) },
  { title: texts.layerSize, cell: ({ sizeBytes }) => <span className="one-line">{sizeText(sizeBytes)}</span> },
  {
    title: texts.command,
    cell: ({ command }) =>
      command === "" ? (
        <span className="quiet">{texts.unknown}</span>
      ) : (
        <code className="long layer-command" title={command}>
          <Name>{shortCommand(command)}</Name>
        </code>
      ),
  },
  {
    title: texts.digest,
    cell: ({ digest, uid }) => (
      <span className="digest">
        <Link href={withParameters(url, { view: "packages", layer: digest, skip: undefined })} isSamePage title={digest}>
          <code>{shortDigest(digest)}</code>
        </Link>
        <Copy text={digest} what={texts.layerNumber(Number(uid) + 1)} />
      </span>
    ),
    minor: true,
  },
];

export const Layers = ({ repoUid, digest }: LayersProps): ReactNode => {
  const url = useAddress();
  const question = layersOf(repoUid, digest);
  const [isAsked, setAsked] = useState(false);
  const result = useAsk(question, { onlyKnown: !isAsked });
  const data = result.data?.data;
  const total = data?.layers.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) ?? 0;
  const body = (): ReactNode => {
    if (result.error) return <Failure error={result.error} retry={() => void result.refetch()} />;
    if (data && data.layers.length === 0)
      return (
        <Empty icon="repo" title={texts.noLayersTitle}>
          <p>{texts.noLayersText}</p>
        </Empty>
      );
    if (data)
      return (
        <>
          {data.hasCommands ? null : <p className="about section-about">{texts.noCommands}</p>}
          <Table caption={texts.layers} columns={columnsAt(url)} items={data.layers} />
        </>
      );
    if (isAsked) return <Skeleton />;
    return (
      <Empty icon="repo" title={texts.readLayersTitle}>
        <p>{texts.readLayersText}</p>
        <button type="button" className="button" onClick={() => setAsked(true)}>
          {texts.readLayers}
        </button>
      </Empty>
    );
  };
  return (
    <Section title={texts.layers} count={data ? `${texts.layerCount(data.layers.length)}, ${sizeText(total)}` : undefined}>
      {body()}
    </Section>
  );
};
