// The page of an image. Its view and platform are in the address.

import { type ReactNode, useEffect } from "react";
import type { Repo } from "../../../client/package.ts";
import { addressOf, replaceAddress, useAddress, withParameters } from "../address.ts";
import { useAsk } from "../api.ts";
import { shortDigest } from "../format.ts";
import { Compare } from "../images/compare.tsx";
import { Reading, StateBadge } from "../images/coverage.tsx";
import { ImageFindings } from "../images/findings.tsx";
import { Layers } from "../images/layers.tsx";
import { Overview } from "../images/overview.tsx";
import { type ImageView, imageViews } from "../page-names.ts";
import { Packages } from "../images/packages.tsx";
import { ImagePulls } from "../images/pulls.tsx";
import { Referrers } from "../images/referrers.tsx";
import { contentsOf, type ImageRef, noFilter, packagesOf, tagNamed } from "../images/requests.ts";
import { Tags } from "../images/tags.tsx";
import { Copy, Failure, Link, Name, NotFound, Skeleton, Tabs, usePageTitle } from "../parts.tsx";
import { architectures as architecturesOf, type Place, repoAt } from "../questions.ts";
import { SameRequest } from "../same-request.tsx";
import { texts } from "../texts/images.ts";

interface ImagePageProps {
  readonly names: readonly string[];
  readonly path: readonly Place[];
  readonly repo: string;
  readonly digest: string;
}

interface ContentProps extends Omit<ImagePageProps, "names" | "repo"> {
  readonly repo: Repo;
}

/** Parameters that belong to one view. */
const noParameters = { skip: undefined, name: undefined, type: undefined, layer: undefined, severity: undefined, tag: undefined, with: undefined };

const Content = ({ path, repo, digest }: ContentProps): ReactNode => {
  const url = useAddress();
  const wanted = url.searchParams.get("arch") ?? undefined;
  const view: ImageView = imageViews.find((each) => each === url.searchParams.get("view")) ?? "overview";
  const known = useAsk(architecturesOf(repo.uid, digest));
  const architectures = known.data?.data.architectures ?? [];
  const current = wanted ?? (architectures.includes("amd64") ? "amd64" : architectures[0]);
  const image: ImageRef = { repoUid: repo.uid, digest, architecture: current };
  const isKnown = known.data !== undefined || known.error !== null;
  // The first page of packages also has the state, so that both views share a request.
  const packages = useAsk(isKnown && view !== "pulls" ? packagesOf(image, noFilter, 0) : undefined);
  const found = packages.data?.data;
  const contents = useAsk(found ? contentsOf(repo.uid, found.digest) : undefined);
  const read = contents.data?.data.imageContents[0];
  const reference = `${location.host}/${[...path, repo].map(({ name }) => name).join("/")}`;
  const body = (): ReactNode => {
    if (!isKnown) return <Skeleton rows={6} />;
    if (view === "findings") return <ImageFindings image={image} />;
    if (view === "packages") return <Packages image={image} />;
    if (view === "layers") return found ? <Layers repoUid={repo.uid} digest={found.digest} /> : null;
    if (view === "signatures") return <Referrers image={image} />;
    if (view === "tags") return <Tags image={image} reference={reference} />;
    if (view === "pulls") return <ImagePulls image={image} />;
    if (view === "compare") return <Compare image={image} />;
    return (
      <Overview
        image={image}
        repo={repo.name}
        reference={reference}
        architectures={architectures}
        current={current}
        contents={read}
        found={found}
        error={packages.error}
      />
    );
  };
  return (
    <>
      {found ? (
        <p className="reference">
          <StateBadge state={found.state} />
          {architectures.length > 1 ? (
            <span className="quiet">
              {texts.platform}: <Name>{current ?? ""}</Name>
            </span>
          ) : null}
        </p>
      ) : null}
      <Tabs
        label={texts.imageSections}
        tabs={imageViews.map((key) => ({ key, title: texts[key], href: withParameters(url, { ...noParameters, view: key === "overview" ? undefined : key }) }))}
        current={view}
        isSamePage
      />
      {found ? <Reading state={found.state} problems={read?.problems ?? []} problemCount={found.problemCount} /> : null}
      {packages.error && view !== "overview" && view !== "packages" ? <Failure error={packages.error} retry={() => void packages.refetch()} /> : null}
      {body()}
      {view === "overview" ? <SameRequest sent={[known.data?.sent, packages.data?.sent, contents.data?.sent]} /> : null}
    </>
  );
};

export const ImagePage = ({ names, path, repo: name, digest }: ImagePageProps): ReactNode => {
  usePageTitle(`${name}@${shortDigest(digest)}`);
  const found = useAsk(repoAt(path.at(-1)?.uid ?? "", name));
  if (found.error) return <Failure error={found.error} retry={() => void found.refetch()} />;
  const repo = found.data?.data;
  if (found.data && !repo) return <NotFound />;
  return (
    <>
      <div className="heading">
        <h1 tabIndex={-1}>
          <Link href={addressOf(names, "repos", name)}>
            <Name>{repo?.name ?? name}</Name>
          </Link>
          <span className="heading-digest" title={digest}>
            @{shortDigest(digest)}
          </span>
        </h1>
        <Copy text={digest} what={texts.digest} />
      </div>
      {repo ? <Content path={path} repo={repo} digest={digest} /> : <Skeleton />}
    </>
  );
};

interface TagPageProps {
  readonly names: readonly string[];
  readonly path: readonly Place[];
  readonly repo: string;
  readonly tag: string;
}

/** Leads from a tag to the image that it points at now. */
export const TagPage = ({ names, path, repo: name, tag }: TagPageProps): ReactNode => {
  const url = useAddress();
  const found = useAsk(repoAt(path.at(-1)?.uid ?? "", name));
  const repo = found.data?.data;
  const tags = useAsk(repo ? tagNamed(repo.uid, tag) : undefined);
  const digest = tags.data?.data.tags[0]?.digest;
  const { search } = url;
  useEffect(() => {
    if (digest !== undefined) replaceAddress(addressOf(names, "repos", name, "images", digest) + search);
  }, [digest, names, name, search]);
  const error = found.error ?? tags.error;
  if (error) return <Failure error={error} />;
  const isMissing = (found.data && !repo) || (tags.data && digest === undefined);
  return isMissing ? <NotFound /> : <Skeleton rows={6} />;
};
