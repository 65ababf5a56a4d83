// Forms that move a tag to another image, and promote its image to another repo.

import { type ReactNode, useState } from "react";
import type { Promotion, Repo, Tag } from "../../../client/package.ts";
import { type Choice, Picker } from "../access/picker.tsx";
import { addressOf, isDigest, isUid } from "../address.ts";
import { useAsk } from "../api.ts";
import { Conflict, type Shown, useVersion, type Version } from "../conflict.tsx";
import { Dialog } from "../dialog.tsx";
import { FormDialog } from "../form-dialog.tsx";
import { shortDigest } from "../format.ts";
import { latestTags, tagNamed } from "../images/requests.ts";
import { announce, Digest, Icon, Link, Name } from "../parts.tsx";
import { parentOf } from "../places.tsx";
import { useSend } from "../send.ts";
import { TextField } from "../text-field.tsx";
import { texts } from "../texts/repos.ts";
import { useRepos } from "./choices.ts";
import { moveTag, promote, tagVersion } from "./requests.ts";

/** Images of the repo by their tags, the latest first, without the current one. */
const useImages = (repo: string, current: string): readonly Choice[] => {
  const tags = useAsk(latestTags(repo)).data?.data.tags ?? [];
  const byDigest = Map.groupBy(
    tags.filter(({ digest }) => digest !== current),
    ({ digest }) => digest,
  );
  return [...byDigest].map(([digest, pointing]) => ({ value: digest, title: pointing.map(({ name }) => name).join(", "), detail: shortDigest(digest) }));
};

const shownTag = ({ digest }: Pick<Tag, "digest">): readonly Shown[] => [[texts.digest, digest]];

interface MoveFormProps {
  readonly repo: string;
  readonly version: Version<Tag>;
  readonly onClose: () => void;
}

export const MoveForm = ({ repo, version, onClose }: MoveFormProps): ReactNode => {
  const [digest, setDigest] = useState("");
  const [isChecked, setChecked] = useState(false);
  const { problems, isSending, send, clear } = useSend(["digest"]);
  const { base, choices } = useVersion(version, () => {}, clear);
  const images = useImages(repo, base.resource.digest);
  const question = moveTag(base.resource.uid, digest, base.etag);
  const submit = async (): Promise<void> => {
    setChecked(true);
    if (!isDigest(digest) || isSending || !(await send(question))) return;
    onClose();
    announce(texts.tagMoved);
  };
  return (
    <FormDialog
      title={texts.moveTag}
      question={question}
      message={problems.message}
      conflict={
        problems.isConflict ? (
          <Conflict read={tagVersion(base.resource.uid)} shownOf={shownTag} mine={shownTag({ digest })} {...choices} onTake={onClose} />
        ) : null
      }
      isSending={isSending}
      submit={() => void submit()}
      onClose={onClose}
    >
      <p className="sentence">
        <Name>{base.resource.name}</Name> <span className="quiet">{texts.pointsTo}</span>{" "}
        <code title={base.resource.digest}>{shortDigest(base.resource.digest)}</code>
      </p>
      <p className="quiet">{texts.moveText}</p>
      <Picker
        label={texts.moveTo}
        hint={texts.moveHint}
        problem={isChecked && !isDigest(digest) ? texts.digestHint : problems.fields.digest}
        value={digest}
        choices={images}
        onChange={setDigest}
        required
        isFirst
      />
    </FormDialog>
  );
};

const Promoted = ({ promotion, target, onClose }: { readonly promotion: Promotion; readonly target: string; readonly onClose: () => void }): ReactNode => {
  const { repoUid, tag, previousDigest, manifestCount, keptTags } = promotion;
  const address = `${addressOf(parentOf(repoUid).split("/"), "repos", repoUid.split("/").at(-1) ?? "")}?tag=${encodeURIComponent(tag)}`;
  return (
    <Dialog label={texts.promoted} className="dialog form-dialog" onClose={onClose}>
      <header>
        <h2>{texts.promoted}</h2>
        <button type="button" className="copy" aria-label={texts.close} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div className="fields">
        <p className="sentence">
          <Name>{`${target}:${tag}`}</Name>
        </p>
        <p>{texts.promotedText(manifestCount)}</p>
        {previousDigest === "" ? null : (
          <p>
            {texts.pointedBefore} <Digest digest={previousDigest} />
          </p>
        )}
        {keptTags.length === 0 ? null : <p>{texts.keptTags(keptTags)}</p>}
        <div className="form-actions">
          <button type="button" className="button" onClick={onClose}>
            {texts.close}
          </button>
          <Link className="button primary" href={address} data-first>
            {texts.openTarget}
          </Link>
        </div>
      </div>
    </Dialog>
  );
};

interface PromoteFormProps {
  readonly repo: Repo;
  readonly tag: Tag;
  readonly onClose: () => void;
}

export const PromoteForm = ({ repo, tag, onClose }: PromoteFormProps): ReactNode => {
  const [target, setTarget] = useState("");
  const [typedTag, setTypedTag] = useState(tag.name);
  const [isChecked, setChecked] = useState(false);
  const [promotion, setPromotion] = useState<Promotion>();
  const { choices, onType } = useRepos();
  const { problems, isSending, send } = useSend(["repo", "tag"]);
  const name = typedTag.trim();
  const existing = useAsk(isUid(target) && name !== "" ? tagNamed(target, name) : undefined);
  const before = existing.data?.data.tags[0]?.digest;
  const question = promote({ repo: target, tag: name, sourceRepo: repo.uid, sourceReference: tag.digest }, before);
  const submit = async (): Promise<void> => {
    setChecked(true);
    if (target === "" || name === "" || isSending || existing.isLoading) return;
    const answer = await send(question);
    if (!answer) return void existing.refetch();
    setPromotion(answer.data);
    announce(texts.promoted);
  };
  const title = choices.find(({ value }) => value === target)?.title ?? target;
  if (promotion) return <Promoted promotion={promotion} target={title} onClose={onClose} />;
  return (
    <FormDialog
      title={texts.promoteTag}
      question={question}
      message={problems.isConflict ? texts.targetMoved : problems.message}
      isSending={isSending}
      submit={() => void submit()}
      onClose={onClose}
    >
      <p className="sentence">
        <Name>{`${repo.name}:${tag.name}`}</Name> <code title={tag.digest}>{shortDigest(tag.digest)}</code>
      </p>
      <p className="quiet">{texts.promoteText}</p>
      <Picker
        label={texts.targetRepo}
        hint={texts.targetHint}
        problem={isChecked && target === "" ? texts.targetHint : problems.fields.repo}
        value={target}
        choices={choices.filter(({ value }) => value !== repo.uid)}
        onChange={setTarget}
        onType={onType}
        required
        isFirst
      />
      <TextField
        label={texts.targetTag}
        about={before === undefined ? undefined : before === tag.digest ? texts.sameImage : texts.movesFrom(shortDigest(before))}
        problem={isChecked && name === "" ? texts.tagRequired : problems.fields.tag}
        value={typedTag}
        onChange={setTypedTag}
        required
      />
    </FormDialog>
  );
};
