// Forms that create or change a repo, and its readme.

import { type ReactNode, useState } from "react";
import type { CatalogTier, Repo, RepoReadme } from "../../../client/package.ts";
import { addressOf, isUidPart, segmentOf } from "../address.ts";
import { Conflict, type Shown, useVersion, type Version } from "../conflict.tsx";
import { Dialog } from "../dialog.tsx";
import { FormDialog } from "../form-dialog.tsx";
import { NewForm } from "../new-form.tsx";
import { announce, Icon } from "../parts.tsx";
import { SelectField } from "../select-field.tsx";
import { useSend } from "../send.ts";
import { TextArea } from "../text-area.tsx";
import { TextField } from "../text-field.tsx";
import { texts } from "../texts/repos.ts";
import { createRepo, readmeVersion, repoVersion, updateReadme, updateRepo } from "./requests.ts";

interface NewRepoProps {
  readonly parent: string;
  readonly names: readonly string[];
  readonly onClose: () => void;
}

export const NewRepoForm = ({ parent, names, onClose }: NewRepoProps): ReactNode => (
  <NewForm
    title={texts.newRepo}
    about={texts.newRepoText}
    texts={texts}
    create={(draft) => createRepo(parent, draft)}
    addressOf={(repo) => addressOf(names, "repos", segmentOf(repo))}
    done={texts.repoCreated}
    onClose={onClose}
  />
);

const listFields = ["bundles", "aliases", "activeTags"] as const;
const fields = ["name", "description", "anonymousPull", "catalogTier", ...listFields] as const;

interface Draft {
  readonly name: string;
  readonly description: string;
  readonly anonymousPull: boolean;
  readonly catalogTier: CatalogTier;
  /** Words with spaces or commas between them, likewise the next two. */
  readonly bundles: string;
  readonly aliases: string;
  readonly activeTags: string;
}

const wordsIn = (text: string): string[] => text.split(/[\s,]+/).filter((each) => each !== "");

const draftOf = ({ name, description, anonymousPull, catalogTier, bundles, aliases, activeTags }: Repo): Draft => ({
  name,
  description,
  anonymousPull: anonymousPull === true,
  catalogTier,
  bundles: bundles.join(", "),
  aliases: aliases.join(", "),
  activeTags: activeTags.join(", "),
});

/** Without differences of spaces. */
const tidied = (draft: Draft): Draft => ({
  ...draft,
  name: draft.name.trim(),
  description: draft.description.trim(),
  bundles: wordsIn(draft.bundles).join(", "),
  aliases: wordsIn(draft.aliases).join(", "),
  activeTags: wordsIn(draft.activeTags).join(", "),
});

const shownOf = (draft: Draft): readonly Shown[] => [
  [texts.name, draft.name],
  [texts.descriptionOptional, draft.description],
  [texts.anonymousPull, draft.anonymousPull ? texts.yes : texts.no],
  [texts.catalogTier, texts.catalogTiers[draft.catalogTier]],
  ...listFields.map((field): Shown => [texts[field], draft[field]]),
];

const tiers: readonly CatalogTier[] = [
  "CATALOG_TIER_UNSPECIFIED",
  "CATALOG_TIER_APPLICATION",
  "CATALOG_TIER_BASE",
  "CATALOG_TIER_FIPS",
  "CATALOG_TIER_AI",
  "CATALOG_TIER_DEVTOOLS",
  "CATALOG_TIER_COMMERCIAL",
];

interface EditRepoProps {
  readonly version: Version<Repo>;
  /** Segments of the address of its group. */
  readonly names: readonly string[];
  /** The segment of the repo. */
  readonly segment: string;
  readonly mayPublish: boolean;
  readonly onClose: () => void;
}

export const EditRepoForm = ({ version, names, segment, mayPublish, onClose }: EditRepoProps): ReactNode => {
  const [typed, setTyped] = useState(draftOf(version.resource));
  const [isChecked, setChecked] = useState(false);
  const { problems, isSending, send, clear } = useSend(fields);
  const { base, choices } = useVersion(version, (stored) => setTyped(draftOf(stored)), clear);
  const set = (change: Partial<Draft>): void => setTyped({ ...typed, ...change });
  const { uid } = base.resource;
  const [draft, stored] = [tidied(typed), draftOf(base.resource)];
  const changed = fields.filter((field) => draft[field] !== stored[field]);
  const values = { ...draft, ...Object.fromEntries(listFields.map((field) => [field, wordsIn(draft[field])])) };
  const question = updateRepo(
    { uid, ...Object.fromEntries(Object.entries(values).filter(([field]) => changed.some((each) => each === field))) },
    changed,
    base.etag,
  );
  const next = ({ name }: Repo): string | undefined =>
    name === version.resource.name || isUidPart(segment) ? undefined : addressOf(names, "repos", segmentOf({ uid, name }));
  const submit = async (): Promise<void> => {
    setChecked(true);
    if (draft.name === "" || isSending) return;
    if (changed.length > 0 && !(await send(question, next))) return;
    onClose();
    announce(texts.repoChanged);
  };
  return (
    <FormDialog
      title={texts.editRepo}
      button={texts.save}
      question={question}
      message={problems.message}
      conflict={problems.isConflict ? <Conflict read={repoVersion(uid)} shownOf={(repo) => shownOf(draftOf(repo))} mine={shownOf(draft)} {...choices} /> : null}
      isSending={isSending}
      submit={() => void submit()}
      onClose={onClose}
    >
      <TextField
        label={texts.name}
        about={draft.name === stored.name ? texts.nameHint : texts.renameText}
        problem={isChecked && draft.name === "" ? texts.nameHint : problems.fields.name}
        value={typed.name}
        onChange={(name) => set({ name })}
        required
        isFirst
      />
      <TextField
        label={texts.descriptionOptional}
        problem={problems.fields.description}
        value={typed.description}
        onChange={(description) => set({ description })}
      />
      {mayPublish ? (
        <label className="check">
          <input type="checkbox" checked={typed.anonymousPull} onChange={({ target }) => set({ anonymousPull: target.checked })} />
          {texts.anonymousPull}
        </label>
      ) : null}
      <details className="more-fields">
        <summary>{texts.catalog}</summary>
        <div className="more-fields-body">
          <SelectField
            label={texts.catalogTier}
            value={typed.catalogTier}
            choices={tiers.map((tier) => [tier, texts.catalogTiers[tier]] as const)}
            problem={problems.fields.catalogTier}
            onChange={(catalogTier) => set({ catalogTier })}
          />
          {listFields.map((field) => (
            <TextField
              key={field}
              label={texts[field]}
              about={texts.listHints[field]}
              problem={problems.fields[field]}
              value={typed[field]}
              onChange={(value) => set({ [field]: value })}
            />
          ))}
        </div>
      </details>
    </FormDialog>
  );
};

const shownReadme = ({ content }: Pick<RepoReadme, "content">): readonly Shown[] => [[texts.readme, content]];

interface ReadmeFormProps {
  readonly version: Version<RepoReadme>;
  readonly onClose: () => void;
}

export const ReadmeForm = ({ version, onClose }: ReadmeFormProps): ReactNode => {
  const [content, setContent] = useState(version.resource.content);
  const { problems, isSending, send, clear } = useSend(["content"]);
  const { base, choices } = useVersion(version, (stored) => setContent(stored.content), clear);
  const { uid } = base.resource;
  const question = updateReadme(uid, content, base.etag);
  const submit = async (): Promise<void> => {
    if (isSending || !(await send(question))) return;
    onClose();
    announce(texts.readmeChanged);
  };
  return (
    <FormDialog
      title={texts.editReadme}
      button={texts.save}
      question={question}
      message={problems.message}
      conflict={problems.isConflict ? <Conflict read={readmeVersion(uid)} shownOf={shownReadme} mine={shownReadme({ content })} {...choices} /> : null}
      isSending={isSending}
      submit={() => void submit()}
      onClose={onClose}
    >
      <TextArea
        label={texts.readme}
        rows={14}
        lengthMax={262_144}
        value={content}
        about={texts.readmeHint}
        problem={problems.fields.content}
        onChange={setContent}
        isFirst
      />
    </FormDialog>
  );
};

/** For callers without permission to change it. */
export const ReadmeText = ({ version, onClose }: ReadmeFormProps): ReactNode => (
  <Dialog label={texts.readme} className="dialog form-dialog" onClose={onClose}>
    <header>
      <h2>{texts.readme}</h2>
      <button type="button" className="copy" aria-label={texts.close} onClick={onClose}>
        <Icon name="close" />
      </button>
    </header>
    <div className="fields">
      {version.resource.content === "" ? (
        <p className="quiet">{texts.noReadme}</p>
      ) : (
        <p className="readme">
          <bdi>{version.resource.content}</bdi>
        </p>
      )}
    </div>
  </Dialog>
);
