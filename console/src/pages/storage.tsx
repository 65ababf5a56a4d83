// Storage that the repos of a group use, and the quota of its organization.

import { type ReactNode, useState } from "react";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ListReposResponse, Quota, Quotas, Repo, Storage } from "../../../client/package.ts";
import { addressOf, positionIn, useAddress } from "../address.ts";
import { type Answer, type Question, useAsk } from "../api.ts";
import { sizeText } from "../format.ts";
import { ListSection } from "../list-section.tsx";
import { Badge, type Column, Command, Empty, Failure, Link, Name, Section, Skeleton, Table } from "../parts.tsx";
import { pageFrom } from "../questions.ts";
import { quotasOf, storageOf } from "../storage.ts";
import { texts } from "../texts/storage.ts";
import { GroupFrame, type GroupPageProps } from "./group-frame.tsx";

const reposBelow = (group: string, skip: number): Question<ListReposResponse> => {
  const request = { uidp: { descendantsOf: group }, orderBy: "name", ...pageFrom(skip) };
  return { name: "registry.repos.list", request, send: (gantry, signal) => gantry.registry.repos.list(request, { signal }).page() };
};

const nearly = 0.9;

const StorageQuota = ({
  storage: { organizationBytes, quotaBytes },
  organization,
}: {
  readonly storage: Storage;
  readonly organization: string;
}): ReactNode => {
  const [used, quota] = [Number(organizationBytes ?? 0), Number(quotaBytes ?? 0)];
  if (quota === 0) return <p className="section-body quiet">{texts.quotaHidden}</p>;
  const share = used / quota;
  return (
    <div className="section-body">
      <div className="quota">
        <meter min={0} max={quota} value={Math.min(used, quota)} high={quota * nearly} aria-label={texts.ofOrganization} />
        <strong>{texts.usedOf(sizeText(used), sizeText(quota))}</strong>
        <span className="quiet">{texts.share(Math.round(share * 1000) / 10)}</span>
        {share >= 1 ? <Badge tone="warn">{texts.full}</Badge> : share >= nearly ? <Badge tone="warn">{texts.nearLimit}</Badge> : null}
      </div>
      <p className="quiet">{texts.quotaText}</p>
      <Command text={`npx gantry admin quota list --organization ${organization}`} what={texts.ofOrganization} />
    </div>
  );
};

type ShownQuota = Quota & { readonly uid: string };

const quotaText = (name: string, value: string | undefined): string => {
  const number = Number(value ?? 0);
  return name === "blob-bytes" ? sizeText(number) : number.toLocaleString("en");
};

const shareOf = ({ used, limit }: Quota): number => (Number(limit) === 0 ? 1 : Number(used ?? 0) / Number(limit));

const quotaColumns: readonly Column<ShownQuota>[] = [
  { title: texts.quotaName, cell: ({ name }) => <code>{name}</code> },
  {
    title: texts.usedNow,
    cell: ({ name, rate, used }) =>
      used === undefined ? (
        <span className="quiet">{rate ? texts.notCounted : texts.usedHidden}</span>
      ) : (
        <span className="number">{quotaText(name, used)}</span>
      ),
  },
  {
    title: texts.limit,
    cell: ({ name, rate, limit }) => <span className="number">{rate ? texts.perSecond(quotaText(name, limit)) : quotaText(name, limit)}</span>,
  },
  {
    title: texts.usedShare,
    cell: (quota) => {
      if (quota.used === undefined) return null;
      const share = shareOf(quota);
      if (share < nearly) return <span className="number">{texts.share(Math.round(share * 1000) / 10)}</span>;
      return <Badge tone="warn">{share >= 1 ? texts.fullQuota : texts.nearQuota}</Badge>;
    },
  },
];

/** The fullest first. */
const byShare = (one: Quota, other: Quota): number => shareOf(other) - shareOf(one);

const AllQuotas = ({ result }: { readonly result: UseQueryResult<Answer<Quotas>> }): ReactNode => {
  const { data, error, refetch } = result;
  if (error) return <Failure error={error} retry={() => void refetch()} />;
  const shown = data?.data.quotas.map((each) => ({ ...each, uid: each.name })).toSorted(byShare);
  return (
    <Section title={texts.allQuotas} count={shown ? texts.quotaCount(shown.length) : undefined}>
      <p className="about section-about">{texts.allQuotasText}</p>
      {shown ? <Table caption={texts.allQuotas} columns={quotaColumns} items={shown} /> : <Skeleton rows={6} />}
    </Section>
  );
};

const Used = ({ storage: { bytes, grossBytes, blobCount } }: { readonly storage: Storage }): ReactNode => (
  <div className="details">
    <dl>
      <dt>{texts.stored}</dt>
      <dd>{sizeText(Number(bytes))}</dd>
      <dt>{texts.withoutSharing}</dt>
      <dd>{sizeText(Number(grossBytes))}</dd>
      <dt>{texts.saved}</dt>
      <dd>{sizeText(Math.max(Number(grossBytes) - Number(bytes), 0))}</dd>
      <dt>{texts.blobs}</dt>
      <dd>{Number(blobCount).toLocaleString("en")}</dd>
    </dl>
  </div>
);

/** Measures a repo when it is asked to, and keeps what is known from before. */
const Measured = ({ repo, part }: { readonly repo: Repo; readonly part: "bytes" | "grossBytes" }): ReactNode => {
  const [isAsked, setAsked] = useState(false);
  const result = useAsk(storageOf(repo.uid), { onlyKnown: !isAsked });
  if (result.data) return <span className="number">{sizeText(Number(result.data.data[part]))}</span>;
  if (result.error) return <span className="problem">{texts.failedTitle}</span>;
  if (isAsked) return <span className="quiet">{texts.loading}</span>;
  return part === "bytes" ? (
    <button type="button" className="button quiet-button" aria-label={texts.measureOf(repo.name)} onClick={() => setAsked(true)}>
      {texts.measure}
    </button>
  ) : null;
};

const parentOf = (uid: string): string[] => uid.split("/").slice(0, -1);

const columns: readonly Column<Repo>[] = [
  {
    title: texts.repo,
    cell: ({ uid, name }) => (
      <Link href={addressOf(parentOf(uid), "repos", uid.split("/").at(-1) ?? "")}>
        <Name>{name}</Name>
      </Link>
    ),
  },
  { title: texts.stored, cell: (repo) => <Measured repo={repo} part="bytes" /> },
  { title: texts.withoutSharing, cell: (repo) => <Measured repo={repo} part="grossBytes" /> },
];

export const StoragePage = ({ names, path }: GroupPageProps): ReactNode => {
  const url = useAddress();
  const place = path.at(-1) ?? { uid: "", name: "" };
  const measured = useAsk(storageOf(place.uid));
  const quotas = useAsk(quotasOf(place.uid));
  const repos = useAsk(reposBelow(place.uid, positionIn(url, "skip")));
  const storage = measured.data?.data;
  return (
    <GroupFrame names={names} path={path} current="storage" sent={[measured.data?.sent, quotas.data?.sent, repos.data?.sent]}>
      <p className="lead">{texts.storageText}</p>
      {measured.error ? <Failure error={measured.error} retry={() => void measured.refetch()} /> : null}
      {measured.error ? null : (
        <>
          <Section title={texts.usedHere(place.name)}>{storage ? <Used storage={storage} /> : <Skeleton rows={3} />}</Section>
          <Section title={texts.ofOrganization}>
            {storage ? <StorageQuota storage={storage} organization={path[0]?.uid.split("/")[0] ?? ""} /> : <Skeleton rows={2} />}
          </Section>
        </>
      )}
      <AllQuotas result={quotas} />
      <ListSection
        title={texts.byRepo}
        about={texts.byRepoText}
        result={repos}
        itemsOf={(data) => data.repos}
        columns={columns}
        count={texts.repoCount}
        parameter="skip"
        empty={
          <Empty icon="repo" title={texts.noReposHere}>
            <p>{texts.noReposHereText}</p>
          </Empty>
        }
      />
    </GroupFrame>
  );
};
