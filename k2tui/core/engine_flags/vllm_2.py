"""Flags of vllm by release, part 2 of 2; written by scripts/engine_flags.py."""

ROWS = """
@ 0.33.0 0.33.0
max-num-active-seqs int .
max-num-queued-reqs int .
max-num-queued-tokens size .
max-num-scheduled-tokens size .
mm-device-do-normalize,no-mm-device-do-normalize switch =None .
mm-encoder-attn-backend str .
mm-encoder-attn-dtype str |fp8|None .
mm-encoder-fp8-scale-path str .
mm-encoder-fp8-scale-save-margin float =1.5 .
mm-encoder-fp8-scale-save-path str .
mm-encoder-only,no-mm-encoder-only switch .
mm-hasher-algorithm str =blake3 |blake3|sha256|sha512 .
mm-ipc-gpu-memory-gb float =0 .
mm-processor-device str =auto .
mm-tensor-ipc str =direct_rpc |direct_rpc|torch_shm .
model-class-overrides json ={} .
moe-backend any =auto
  |aiter|aiter_mega_moe|aiter_triton_mxfp4_bf16|aiter_triton_mxfp4_mxfp4|auto|b12x|batched_triton|cutlass|deep_gemm|deep_gemm_mega_moe|emulation|flashinfer_b12x|flashinfer_cutedsl|flashinfer_cutlass|flashinfer_moe_ep_cutedsl|flashinfer_moe_ep_mega_deep_gemm|flashinfer_trtllm|flydsl|hpc|humming|marlin|rdna3|triton|triton_unfused
  .
monokernel,no-monokernel switch .
nnodes,n int =1 .
node-rank,r int =0 .
numa-bind,no-numa-bind switch .
numa-bind-cpus str+ .
numa-bind-nodes int+ .
offload-backend str =auto |auto|prefetch|uva .
offload-group-size int =0 .
offload-num-in-group int =1 .
offload-params str+ =[] .
offload-prefetch-step int =1 .
optimization-level str =2 .
per-request-spec-decode-metrics str =none |detailed|none|summary .
performance-mode str =balanced |balanced|interactivity|throughput .
prefill-context-parallel-size,pcp int =1 .
prefill-schedule-interval int =1 .
prefix-cache-retention-interval int =0 .
prefix-caching-hash-algo str =sha256 |sha256|sha256_cbor|xxhash|xxhash_cbor .
prefix-match-unit int .
profiler-config json ={…} .
quantization-config json .
reasoning-config json .
reasoning-effort-map json .
reasoning-parser any =`` .
reasoning-parser-plugin str =`` .
renderer-num-workers int =1 .
replayssm-buffer-len int =16 .
return-sampling-mask,no-return-sampling-mask switch .
safetensors-load-strategy str |eager|lazy|prefetch|torchao|None .
safetensors-prefetch-block-size size =16777216 .
safetensors-prefetch-num-threads int =8 .
scheduler-cls str .
scheduler-reserve-full-isl,no-scheduler-reserve-full-isl switch =True .
seed int =0 .
shutdown-timeout int =0 .
sleep-mode-backend str =cumem .
sleep-mode-offload-cudagraph,no-sleep-mode-offload-cudagraph switch .
sleep-preserve-parameter-names str+ =[] .
sparse-indexer-topk-backend any =auto |aiter|auto|cooperative|deep_select|flashinfer|per_row|persistent|torch .
spec-method str
  |bailing_hybrid_mtp|bailing_hybrid_v3_mtp|custom_class|deepseek_mtp|dflash|dots3_note_mtp|draft_model|dspark|eagle|eagle3|ernie_mtp|exaone4_5_mtp|exaone_moe_mtp|extract_hidden_states|gemma4_mtp|glm4_moe_lite_mtp|glm4_moe_mtp|glm5_next_mtp|glm_ocr_mtp|hy_v3_mtp|hy_v4_mtp|inkling_mtp|kimi_k3_mtp|longcat_flash_mtp|mimo_mtp|mimo_v2_mtp|minimax_m3_mtp|mtp|nemotron_h_mtp|ngram|ngram_gpu|pangu_ultra_moe_mtp|qwen3_5_mtp|qwen3_next_mtp|qwen4_exp_mtp|step3p5_mtp|step5_mtp|suffix|None
  .
spec-model str .
spec-tokens int .
specialize-active-lora,no-specialize-active-lora switch .
speculative-config,sc json .
sse-keep-alive-interval int =0 .
ssl-ciphers str .
stream-interval int =1 .
swa-bounded-replay,no-swa-bounded-replay switch =True .
tokenizer-mode str =auto .
tokens-only,no-tokens-only switch .
tool-strict-level str |auto|function|parameter|None .
trust-request-mm-kwargs,no-trust-request-mm-kwargs switch .
ubatch-size int =0 .
use-fp64-gumbel,no-use-fp64-gumbel switch .
use-replayssm,no-use-replayssm switch .
video-pruning-method str =evs |evs|vidcom2 .
watchdog-config json ={…} .
watermark float =0.0 .
watermark-config json .
weight-transfer-config json .
"""
