// The page in a notebook's output: a frame of its own, which shares its word and its lasso with the kernel.

function render({ model, el }) {
  const frame = document.createElement("iframe");
  // An origin of its own: it can reach nothing of the notebook.
  frame.sandbox = "allow-scripts allow-downloads";
  Object.assign(frame, { title: "wordstill", width: "100%", height: model.get("height"), srcdoc: model.get("page") });
  Object.assign(frame.style, { border: "1px solid #ccc", borderRadius: "8px" });
  const choose = () => frame.contentWindow?.postMessage({ wordstill: { word: model.get("word") } }, "*");
  const hear = ({ source, data }) => {
    if (source !== frame.contentWindow || !data?.wordstill) return;
    const { ready, word, words } = data.wordstill;
    if (ready && model.get("word")) choose();
    if (word !== undefined) model.set("word", word);
    if (words !== undefined) model.set("words", words);
    if (!ready) model.save_changes();
  };
  addEventListener("message", hear);
  model.on("change:word", choose);
  el.append(frame);
  return () => {
    removeEventListener("message", hear);
    model.off("change:word", choose);
  };
}

export default { render };
