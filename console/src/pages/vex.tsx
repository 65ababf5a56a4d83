// Trusted sources of VEX of a group. Which sources are shown is in the address.

import { type ReactNode, useState } from "react";
import type { VexSource } from "../../../client/package.ts";
import { type Choice, Picker } from "../access/picker.tsx";
import { mine } from "../access/requests.ts";
import { isUid, positionIn, replaceAddress, useAddress, withParameter } from "../address.ts";
import { useAsk } from "../api.ts";
import { Confirm } from "../confirm.tsx";
import { decideCapability } from "../decisions/requests.ts";
import { FormDialog } from "../form-dialog.tsx";
import { shortDigest, shortUid } from "../format.ts";
import { ListSection } from "../list-section.tsx";
import { announce, type Column, Command, Copy, Empty, Icon, Name, Time } from "../parts.tsx";
import { isBelow, type Names, parentOf, PlaceLink, ScopeLinks, scopeIn, useNames } from "../places.tsx";
import { queryLengthMin, search } from "../questions.ts";
import { useSend } from "../send.ts";
import { TextArea } from "../text-area.tsx";
import { TextField } from "../text-field.tsx";
import { texts } from "../texts/vex.ts";
import { createVexSource, deleteVexSource, vexSourcesAt } from "../vex/requests.ts";
import { GroupFrame, type GroupPageProps } from "./group-frame.tsx";

interface Where {
  /** The group of the page. */
  readonly here: string;
  readonly names: Names;
}

const sourceColumns = (where: Where, remove: ((source: VexSource) => void) | undefined): readonly Column<VexSource>[] => [
  {
    title: texts.sourceName,
    cell: ({ name, repoUid }) => (
      <>
        <span className="words">
          <Name>{name}</Name>
        </span>
        {repoUid === "" ? null : (
          <div className="under-badge">
            {texts.onlyRepo} <PlaceLink uid={repoUid} {...where} />
          </div>
        )}
      </>
    ),
  },
  {
    title: texts.fingerprint,
    cell: ({ keyFingerprint }) => (
      <span className="digest">
        <code title={keyFingerprint}>{shortDigest(keyFingerprint)}</code>
        <Copy text={keyFingerprint} what={texts.fingerprint} />
      </span>
    ),
    minor: true,
  },
  { title: texts.setAt, cell: ({ uid }) => <PlaceLink uid={parentOf(uid)} page="vex" {...where} /> },
  { title: texts.created, cell: ({ createTime }) => <Time time={createTime} />, minor: true },
  ...(remove
    ? [
        {
          title: texts.actions,
          action: true,
          cell: (source: VexSource) => (
            <button type="button" className="button quiet-button" aria-label={texts.deleteSourceOf(source.name)} onClick={() => remove(source)}>
              <Icon name="trash" />
            </button>
          ),
        },
      ]
    : []),
];

/** Repos below the group that a search finds. */
const useRepos = (group: string): { readonly choices: readonly Choice[]; readonly onType: (text: string) => void } => {
  const [typed, setTyped] = useState("");
  const found = useAsk([...typed].length >= queryLengthMin ? search(typed, ["Repo"]) : undefined, { keep: true }).data?.data.results ?? [];
  const below = found.filter(({ uid }) => uid.startsWith(`${group}/`));
  return { choices: below.map(({ uid, name, path }) => ({ value: uid, title: path || name, detail: shortUid(uid) })), onType: setTyped };
};

const SourceForm = ({ group, onClose }: { readonly group: string; readonly onClose: () => void }): ReactNode => {
  const [draft, setDraft] = useState({ name: "", publicKey: "", repoUid: "" });
  const [isChecked, setChecked] = useState(false);
  const { choices, onType } = useRepos(group);
  const { problems, isSending, send } = useSend(["name", "publicKey", "repoUid"]);
  const set = (change: Partial<typeof draft>): void => setDraft({ ...draft, ...change });
  const [name, publicKey, repoUid] = [draft.name.trim(), draft.publicKey.trim(), draft.repoUid.trim()];
  const question = createVexSource(group, { name, publicKey, ...(repoUid === "" ? {} : { repoUid }) });
  const keyProblem = isChecked && publicKey === "" ? texts.publicKeyHint : problems.fields.publicKey;
  const isRepoWrong = repoUid !== "" && !isUid(repoUid);
  const submit = async (): Promise<void> => {
    setChecked(true);
    if (name === "" || publicKey === "" || isRepoWrong || isSending || !(await send(question))) return;
    onClose();
    announce(texts.sourceAdded);
  };
  return (
    <FormDialog title={texts.addSource} question={question} message={problems.message} isSending={isSending} submit={() => void submit()} onClose={onClose}>
      <p className="quiet">
        {texts.sourcesText} {texts.sourceEffect} {texts.approvalToo}
      </p>
      <TextField
        label={texts.sourceName}
        about={texts.sourceNameHint}
        problem={isChecked && name === "" ? texts.sourceNameHint : problems.fields.name}
        value={draft.name}
        onChange={(value) => set({ name: value })}
        required
        isFirst
      />
      <TextArea
        label={texts.publicKey}
        about={texts.publicKeyHint}
        problem={keyProblem}
        value={draft.publicKey}
        rows={5}
        maxLength={4096}
        onChange={(publicKey) => set({ publicKey })}
        required
      />
      <Picker
        label={texts.repoOptional}
        hint={texts.repoHint}
        problem={isChecked && isRepoWrong ? texts.repoUnknown : problems.fields.repoUid}
        value={draft.repoUid}
        choices={choices}
        onChange={(value) => set({ repoUid: value })}
        onType={onType}
      />
    </FormDialog>
  );
};

export const VexPage = ({ names, path }: GroupPageProps): ReactNode => {
  const url = useAddress();
  const here = path.at(-1)?.uid ?? "";
  const own = new Set(useAsk(mine(here)).data?.data.capabilities);
  const result = useAsk(vexSourcesAt(scopeIn(url, here), positionIn(url, "skip")));
  const sources = result.data?.data.vexSources ?? [];
  const known = useNames([...sources.map(({ uid }) => parentOf(uid)), ...sources.map(({ repoUid }) => repoUid)], path);
  const [removing, setRemoving] = useState<VexSource>();
  const mayTrust = own.has(decideCapability);
  return (
    <GroupFrame names={names} path={path} current="vex" sent={[result.data?.sent]}>
      <div className="scope">
        <ScopeLinks label={texts.scopes} positions={["skip"]} />
        <p className="quiet">{isBelow(url) ? texts.sourcesBelow : texts.sourcesHere}</p>
      </div>
      <ListSection
        title={texts.sources}
        about={own.size === 0 || mayTrust ? texts.sourcesText : `${texts.sourcesText} ${texts.changeNeeds([decideCapability])}`}
        action={
          mayTrust ? (
            <button type="button" className="button" onClick={() => replaceAddress(withParameter(url, "add", ""))}>
              <Icon name="plus" />
              {texts.addSource}
            </button>
          ) : undefined
        }
        result={result}
        itemsOf={(data) => data.vexSources}
        columns={sourceColumns({ here, names: known }, mayTrust ? setRemoving : undefined)}
        count={texts.sourceCount}
        parameter="skip"
        empty={
          <Empty icon="key" title={texts.noSourcesTitle}>
            <p>{texts.noSourcesText}</p>
            <a className="button" href="/docs/how-to/trust-vex">
              {texts.guide}
            </a>
          </Empty>
        }
      />
      {sources.length === 0 ? null : (
        <>
          <p className="quiet">{texts.compareKey}</p>
          <Command text="openssl pkey -pubin -in supplier.pub -outform der | sha256sum" what={texts.compareKey} />
        </>
      )}
      {mayTrust && url.searchParams.has("add") ? <SourceForm group={here} onClose={() => replaceAddress(withParameter(url, "add", undefined))} /> : null}
      {removing ? (
        <Confirm
          title={texts.deleteSource}
          about={<Name>{removing.name}</Name>}
          effect={texts.deleteSourceText}
          question={deleteVexSource(removing.uid)}
          done={texts.sourceDeleted}
          deletes={removing}
          onClose={() => setRemoving(undefined)}
        />
      ) : null}
    </GroupFrame>
  );
};
