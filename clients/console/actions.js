// Actions of an operator, each confirmed in a dialog by typing what it does.

import { element, visible } from "./elements.js";

/**
 * A button that opens a dialog.
 * @param label what it does, in the words that are to be typed.
 * @param text what becomes of whom, in sentences.
 * @param perform acts.
 */
export function actionButton(label, text, perform) {
  const button = element("button", { type: "button", class: "danger-button" }, label);
  button.addEventListener("click", () => open(label, text, perform));
  return button;
}

function open(label, text, perform) {
  const word = label.toLowerCase();
  const input = element("input", { id: "confirmation", name: "confirmation", autocomplete: "off", spellcheck: "false", autocapitalize: "off" });
  const cancel = element("button", { type: "button" }, "Cancel");
  const confirm = element("button", { class: "danger-button", disabled: true }, label);
  const failure = element("p", { class: "failure", role: "alert" });
  const form = element("form", {}, element("h2", { id: "dialog-title" }, `${label}?`), element("p", { id: "dialog-text" }, text),
    element("label", { for: "confirmation" }, "Type ", element("code", {}, word), " to confirm"), input, failure,
    element("p", { class: "actions" }, cancel, confirm));
  const dialog = element("dialog", { "aria-labelledby": "dialog-title", "aria-describedby": "dialog-text" }, form);
  input.addEventListener("input", () => { confirm.disabled = input.value.trim().toLowerCase() !== word; });
  cancel.addEventListener("click", () => dialog.close());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (confirm.disabled) return;
    // Once, however often it is pressed.
    confirm.disabled = true;
    try {
      const done = await perform();
      dialog.close();
      done();
    } catch (error) {
      failure.textContent = visible(error.message);
      confirm.disabled = false;
    }
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  input.focus();
}
