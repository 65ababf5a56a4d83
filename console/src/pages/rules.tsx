// Retention rules and immutable tags of a group, or of a repo below it. Which rules are shown is in the address.

import { type ReactNode, useState } from "react";
import type { ImmutableTagRule, Repo, RetentionRule, RetentionVerdict } from "../../../client/package.ts";
import { mine } from "../access/requests.ts";
import { addressOf, positionIn, replaceAddress, segmentOf, useAddress, withParameter, withParameters } from "../address.ts";
import { type Question, useAsk } from "../api.ts";
import { Confirm } from "../confirm.tsx";
import { ListSection } from "../list-section.tsx";
import { Badge, type Column, Empty, Failure, Icon, Link, Name, NotFound, Section, Skeleton, Time } from "../parts.tsx";
import { isBelow as isBelowIn, type Names, parentOf, PlaceLink, type Scope, ScopeLinks, scopeIn, useNames } from "../places.tsx";
import { repoAt } from "../questions.ts";
import { ImmutableForm, RetentionForm } from "../rules/forms.tsx";
import {
  deleteImmutableTagRule,
  deleteRetentionRule,
  immutableTagRule,
  immutableTagRulesAt,
  nextRunIn,
  retentionRule,
  retentionRulesAt,
} from "../rules/requests.ts";
import { texts } from "../texts/rules.ts";
import { Edit } from "../versions.tsx";
import { GroupFrame, type GroupPageProps } from "./group-frame.tsx";

const keptBy = ({ keepAll, keepLast, keepVersions, keepDays, keepPulledDays, inUseDays }: RetentionRule): string =>
  keepAll
    ? texts.keepsAll
    : texts.all([
        ...(keepLast > 0 ? [texts.keepsLast(keepLast)] : []),
        ...(keepVersions > 0 ? [texts.keepsVersions(keepVersions)] : []),
        ...(keepDays > 0 ? [texts.keepsDays(keepDays)] : []),
        ...(keepPulledDays > 0 ? [texts.keepsPulled(keepPulledDays)] : []),
        texts.keepsInUse(inUseDays === 0 ? 30 : inUseDays),
      ]);

interface Actions<Rule> {
  readonly change: (rule: Rule) => void;
  readonly remove: (rule: Rule) => void;
}

const actionsOf = <Rule,>({ change, remove }: Partial<Actions<Rule>>, nameOf: (rule: Rule) => string): readonly Column<Rule>[] =>
  change || remove
    ? [
        {
          title: texts.actions,
          action: true,
          cell: (rule: Rule) => (
            <>
              {change ? (
                <button type="button" className="button quiet-button" aria-label={texts.changeRuleOf(nameOf(rule))} onClick={() => change(rule)}>
                  <Icon name="edit" />
                </button>
              ) : null}
              {remove ? (
                <button type="button" className="button quiet-button" aria-label={texts.removeRuleOf(nameOf(rule))} onClick={() => remove(rule)}>
                  <Icon name="trash" />
                </button>
              ) : null}
            </>
          ),
        },
      ]
    : [];

interface Where {
  /** The repo or group of the page. */
  readonly here: string;
  readonly names: Names;
}

const immutableColumns = (where: Where, actions: Partial<Actions<ImmutableTagRule>>): readonly Column<ImmutableTagRule>[] => [
  { title: texts.tagPattern, cell: ({ pattern }) => <code className="long">{pattern}</code> },
  { title: texts.reason, cell: ({ description }) => <Name>{description}</Name>, minor: true },
  { title: texts.setAt, cell: ({ uid }) => <PlaceLink uid={parentOf(uid)} page="rules" {...where} /> },
  { title: texts.created, cell: ({ createTime }) => <Time time={createTime} />, minor: true },
  ...actionsOf(actions, ({ pattern }) => pattern),
];

const retentionColumns = (where: Where, actions: Partial<Actions<RetentionRule>>): readonly Column<RetentionRule>[] => [
  {
    title: texts.ruleName,
    cell: ({ name, previewOnly }) => (
      <>
        <span className="words">
          <Name>{name}</Name>
        </span>
        {previewOnly ? (
          <div>
            <Badge tone="plain">{texts.previewOnly}</Badge>
          </div>
        ) : null}
      </>
    ),
  },
  {
    title: texts.tagPattern,
    cell: ({ tagPattern, versionRange, repoUid }) => (
      <>
        {tagPattern === "" ? null : <code className="long">{tagPattern}</code>}
        {versionRange === "" ? null : <div>{texts.onlyVersions(versionRange)}</div>}
        {tagPattern === "" && versionRange === "" ? <span className="quiet">{texts.allTags}</span> : null}
        {repoUid === "" ? null : (
          <div className="under-badge">
            {texts.repoLink} <PlaceLink uid={repoUid} {...where} />
          </div>
        )}
      </>
    ),
    minor: true,
  },
  { title: texts.effect, cell: keptBy },
  { title: texts.setAt, cell: ({ uid }) => <PlaceLink uid={parentOf(uid)} page="rules" {...where} />, minor: true },
  ...actionsOf(actions, ({ name }) => name),
];

const verdictColumns: readonly Column<RetentionVerdict & { readonly uid: string }>[] = [
  { title: texts.tag, cell: ({ tag }) => <Name>{tag}</Name> },
  { title: texts.why, cell: ({ reason }) => <Name>{reason}</Name> },
];

const Verdicts = ({ repo }: { readonly repo: string }): ReactNode => {
  const result = useAsk(nextRunIn(repo, positionIn(useAddress(), "tags")));
  return (
    <ListSection
      title={texts.nextRun}
      about={texts.nextRunText}
      result={result}
      itemsOf={({ verdicts }) => verdicts.map((each) => ({ ...each, uid: each.tagUid }))}
      columns={verdictColumns}
      count={texts.verdictCount}
      parameter="tags"
      empty={
        <Empty icon="check" title={texts.noVerdictsTitle}>
          <p>{texts.noVerdictsText}</p>
        </Empty>
      }
    />
  );
};

/** The server judges every tag of the repo, so it is asked on request. */
const NextRun = ({ repo }: { readonly repo: string }): ReactNode => {
  const [isAsked, setAsked] = useState(false);
  if (isAsked) return <Verdicts repo={repo} />;
  return (
    <Section title={texts.nextRun}>
      <div className="section-body">
        <p className="quiet">{texts.nextRunText}</p>
        <p>
          <button type="button" className="button" onClick={() => setAsked(true)}>
            {texts.showNextRun}
          </button>
        </p>
      </div>
    </Section>
  );
};

interface Removing {
  readonly uid: string;
  readonly about: string;
  readonly effect: string;
  readonly question: Question<unknown>;
}

const Rules = ({ names, path, repo: shown }: GroupPageProps & { readonly repo: Repo | undefined }): ReactNode => {
  const url = useAddress();
  const group = path.at(-1)?.uid ?? "";
  const repo = shown?.uid;
  const isBelow = repo === undefined && isBelowIn(url);
  const scope: Scope = repo === undefined ? scopeIn(url, group) : { ancestorsOf: repo };
  const own = new Set(useAsk(mine(repo ?? group)).data?.data.capabilities);
  const immutable = useAsk(immutableTagRulesAt(scope, positionIn(url, "immutable")));
  const retention = useAsk(retentionRulesAt(scope, positionIn(url, "retention")));
  const here = repo ?? group;
  const immutableRules = immutable.data?.data.immutableTagRules ?? [];
  const rules = retention.data?.data.retentionRules ?? [];
  const isSettled = immutable.isFetched && retention.isFetched;
  const shownUids = [...[...immutableRules, ...rules].map(({ uid }) => parentOf(uid)), ...rules.map(({ repoUid }) => repoUid)];
  const known = useNames(
    (isSettled ? shownUids : []).filter((uid) => uid !== here),
    path,
  );
  const where = { here, names: known };
  const [removing, setRemoving] = useState<Removing>();
  const mayChangeRetention = own.has("repo.update") && own.has("tag.delete");
  const mayChangeImmutable = own.has("gantry.immutable_tag_rules.update");
  const adding = url.searchParams.get("add");
  const [editedKind, editedUid = ""] = url.searchParams.get("edit")?.split(":") ?? [];
  const edit = (kind: "immutable" | "retention", uid: string): void => replaceAddress(withParameter(url, "edit", `${kind}:${uid}`));
  const addButton = (name: string, title: string): ReactNode => (
    <button type="button" className="button" onClick={() => replaceAddress(withParameter(url, "add", name))}>
      <Icon name="plus" />
      {title}
    </button>
  );
  const close = (): void => replaceAddress(withParameters(url, { add: undefined, edit: undefined }));
  const needs = (lacking: readonly string[]): string => (own.size === 0 || lacking.length === 0 ? "" : ` ${texts.changeNeeds(lacking)}`);
  return (
    <GroupFrame names={names} path={path} current="rules" sent={[immutable.data?.sent, retention.data?.sent]}>
      <div className="scope">
        {shown === undefined ? (
          <ScopeLinks label={texts.scopes} positions={["immutable", "retention"]} />
        ) : (
          <p className="states">
            <Link className="button" href={addressOf(names, "repos", segmentOf(shown))}>
              <Icon name="repo" />
              <Name>{shown.name}</Name>
            </Link>
            <Link className="button" href={addressOf(names, "rules")}>
              {texts.groupRules}
            </Link>
          </p>
        )}
        <p className="quiet">{repo !== undefined ? texts.rulesOfRepo : isBelow ? texts.rulesBelow : texts.rulesHere}</p>
      </div>
      <ListSection
        title={texts.immutable}
        about={`${texts.immutableText}${needs(own.has("gantry.immutable_tag_rules.create") ? [] : ["gantry.immutable_tag_rules.create"])}`}
        action={own.has("gantry.immutable_tag_rules.create") ? addButton("immutable", texts.addImmutable) : undefined}
        result={immutable}
        itemsOf={(data) => data.immutableTagRules}
        columns={immutableColumns(where, {
          ...(mayChangeImmutable ? { change: ({ uid }) => edit("immutable", uid) } : {}),
          ...(own.has("gantry.immutable_tag_rules.delete")
            ? { remove: ({ uid, pattern }) => setRemoving({ uid, about: pattern, effect: texts.immutableRemoveText, question: deleteImmutableTagRule(uid) }) }
            : {}),
        })}
        count={texts.ruleCount}
        parameter="immutable"
        empty={
          <Empty icon="tag" title={texts.noImmutableTitle}>
            <p>{texts.noImmutableText}</p>
          </Empty>
        }
      />
      <ListSection
        title={texts.retention}
        about={`${texts.retentionText}${needs(["repo.update", "tag.delete"].filter((name) => !own.has(name)))}`}
        action={mayChangeRetention ? addButton("retention", texts.addRetention) : undefined}
        result={retention}
        itemsOf={(data) => data.retentionRules}
        columns={retentionColumns(
          where,
          mayChangeRetention
            ? {
                change: ({ uid }) => edit("retention", uid),
                remove: ({ uid, name }) => setRemoving({ uid, about: name, effect: texts.retentionRemoveText, question: deleteRetentionRule(uid) }),
              }
            : {},
        )}
        count={texts.ruleCount}
        parameter="retention"
        empty={
          <Empty icon="tag" title={texts.noRetentionTitle}>
            <p>{texts.noRetentionText}</p>
          </Empty>
        }
      />
      {repo === undefined ? null : <NextRun repo={repo} />}
      {adding === "immutable" && own.has("gantry.immutable_tag_rules.create") ? <ImmutableForm parent={repo ?? group} onClose={close} /> : null}
      {adding === "retention" && mayChangeRetention ? <RetentionForm group={group} repo={repo} onClose={close} /> : null}
      {editedKind === "immutable" && mayChangeImmutable ? (
        <Edit
          key={editedUid}
          title={texts.changeRule}
          read={immutableTagRule(editedUid)}
          form={(version) => <ImmutableForm parent={parentOf(editedUid)} version={version} onClose={close} />}
          onClose={close}
        />
      ) : null}
      {editedKind === "retention" && mayChangeRetention ? (
        <Edit
          key={editedUid}
          title={texts.changeRule}
          read={retentionRule(editedUid)}
          form={(version) => <RetentionForm group={parentOf(editedUid)} repo={undefined} version={version} onClose={close} />}
          onClose={close}
        />
      ) : null}
      {removing ? (
        <Confirm
          title={texts.removeRule}
          about={<code className="long">{removing.about}</code>}
          effect={removing.effect}
          question={removing.question}
          done={texts.ruleRemoved}
          deletes={{ uid: removing.uid, name: removing.about }}
          onClose={() => setRemoving(undefined)}
        />
      ) : null}
    </GroupFrame>
  );
};

export const RulesPage = ({ names, path }: GroupPageProps): ReactNode => {
  const name = useAddress().searchParams.get("repo");
  const found = useAsk(name === null ? undefined : repoAt(path.at(-1)?.uid ?? "", name));
  if (name === null) return <Rules names={names} path={path} repo={undefined} />;
  const repo = found.data?.data;
  return (
    <>
      {repo ? <Rules key={repo.uid} names={names} path={path} repo={repo} /> : null}
      {found.data && !repo ? <NotFound /> : null}
      {found.error ? <Failure error={found.error} retry={() => void found.refetch()} /> : null}
      {found.isPending ? <Skeleton rows={6} /> : null}
    </>
  );
};
