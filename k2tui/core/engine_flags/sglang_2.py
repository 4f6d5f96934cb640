"""Flags of sglang by release, part 2 of 3; written by scripts/engine_flags.py."""

ROWS = """
@ 0.5.8 0.5.9
speculative-draft-load-format str
  |auto|pt|safetensors|npcache|dummy|sharded_state|gguf|bitsandbytes|layered|flash_rl|remote|remote_instance|fastsafetensors|private
@ 0.5.8 0.5.11
lora-target-modules str+
  |q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj|qkv_proj|gate_up_proj|embed_tokens|lm_head|all
@ 0.5.8 0.5.12
custom-sigquit-handler str
hybrid-kvcache-ratio switch =None . ~--swa-full-tokens-ratio
mamba-scheduler-strategy str =auto |auto|no_buffer|extra_buffer
piecewise-cuda-graph-max-tokens int
piecewise-cuda-graph-tokens int+
@ 0.5.8 0.5.15
encoder-transfer-backend str =zmq_to_scheduler |zmq_to_scheduler|zmq_to_tokenizer|mooncake
@ 0.5.8 0.5.18
prefill-round-robin-balance switch =None . ~
schedule-policy str =fcfs |lpm|random|fcfs|dfs-weight|lof|priority|routing-key
@ 0.5.8 0.5.22
enable-fused-qk-norm-rope switch
lora-backend str =csgmv |triton|csgmv|ascend|torch_native
@ 0.5.8 0.5.23
admin-api-key str
disable-flashinfer-autotune switch
dllm-algorithm-config str
enable-dynamic-chunking switch
enable-lora-overlap-loading switch =None
enable-multi-layer-eagle switch
enable-precise-embedding-interpolation switch
enable-prefill-delayer switch
enable-prefix-mm-cache switch
enable-return-routed-experts switch
encoder-only switch
encoder-urls str+ =[]
hf-chat-template-name str
language-only switch
limit-mm-data-per-request json
load-balance-method str =auto |auto|round_robin|follow_bootstrap_room|total_requests|total_tokens
log-requests-format str =text |text|json
log-requests-target str+
mamba-track-interval int =256
model-checksum str?
pp-async-batch-depth int =0
preferred-sampling-params json
prefill-delayer-forward-passes-buckets float+
prefill-delayer-max-delay-passes int =30
prefill-delayer-token-usage-low-watermark float
prefill-delayer-wait-seconds-buckets float+
prefill-max-requests int
remote-instance-weight-loader-start-seed-via-transfer-engine switch
rl-quant-profile str
soft-watchdog-timeout float
speculative-draft-attention-backend str
uvicorn-access-log-exclude-prefixes str+ =[]
@ 0.5.9 0.5.9
fp4-gemm-backend str =flashinfer_cutlass |auto|flashinfer_cudnn|flashinfer_cutlass|flashinfer_trtllm
  .fp4_gemm_runner_backend
fp8-gemm-backend str =auto |auto|deep_gemm|flashinfer_trtllm|flashinfer_deepgemm|cutlass|triton|aiter
  .fp8_gemm_runner_backend
mm-attention-backend str |sdpa|fa3|fa4|triton_attn|ascend_attn|aiter_attn
moe-a2a-backend str =none |none|deepep|mooncake|mori|ascend_fuseep|flashinfer
quantization str
  |awq|fp8|mxfp8|gptq|marlin|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|modelopt_fp8|modelopt_fp4|petit_nvfp4|w8a8_int8|w8a8_fp8|moe_wna16|qoq|w4afp8|mxfp4|auto-round|compressed-tensors|modelslim|quark_int4fp8_moe
reasoning-parser str
  |deepseek-r1|deepseek-v3|glm45|gpt-oss|kimi|kimi_k2|qwen3|qwen3-thinking|minimax|minimax-append-think|step3|step3p5|nano_v3|interns1
speculative-draft-model-quantization str
  |awq|fp8|mxfp8|gptq|marlin|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|modelopt_fp8|modelopt_fp4|petit_nvfp4|w8a8_int8|w8a8_fp8|moe_wna16|qoq|w4afp8|mxfp4|auto-round|compressed-tensors|modelslim|quark_int4fp8_moe|unquant
speculative-moe-a2a-backend str |none|deepep|mooncake|mori|ascend_fuseep|flashinfer
@ 0.5.9 0.5.10
tool-call-parser str
  |deepseekv3|deepseekv31|deepseekv32|glm|glm45|glm47|gpt-oss|kimi_k2|lfm2|llama3|mimo|mistral|pythonic|qwen|qwen25|qwen3_coder|step3|step3p5|minimax-m2|trinity|interns1|hermes|gigachat3
@ 0.5.9 0.5.12
attention-context-parallel-size,attn-cp-size int =1 .
disaggregation-transfer-backend str =mooncake |mooncake|nixl|ascend|fake|mori
moe-data-parallel-size,moe-dp-size int =1 .
nsa-decode-backend str |flashmla_sparse|flashmla_kv|flashmla_auto|fa3|tilelang|aiter|trtllm
nsa-prefill-backend str |flashmla_sparse|flashmla_kv|flashmla_auto|fa3|tilelang|aiter|trtllm
nsa-prefill-cp-mode str =round-robin-split |in-seq-split|round-robin-split
.attn_cp_size .moe_dp_size
@ 0.5.9 0.5.23
extra-metric-labels json
mamba-backend str =triton |triton|flashinfer
mamba-ssm-dtype str |float32|bfloat16|float16
@ 0.5.10 0.5.10
moe-runner-backend str =auto
  |auto|deep_gemm|triton|triton_kernel|flashinfer_trtllm|flashinfer_trtllm_routed|flashinfer_cutlass|flashinfer_mxfp4|flashinfer_cutedsl|cutlass
quantization str
  |awq|fp8|mxfp8|gptq|marlin|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|modelopt_fp8|modelopt_fp4|modelopt_mixed|petit_nvfp4|w8a8_int8|w8a8_fp8|moe_wna16|qoq|w4afp8|mxfp4|auto-round|compressed-tensors|modelslim|quark_int4fp8_moe
radix-eviction-policy str =lru |lru|lfu|slru
reasoning-parser str
  |deepseek-r1|deepseek-v3|glm45|gpt-oss|kimi|kimi_k2|mimo|qwen3|qwen3-thinking|minimax|minimax-append-think|step3|step3p5|mistral|nemotron_3|interns1
speculative-moe-runner-backend str
  |auto|deep_gemm|triton|triton_kernel|flashinfer_trtllm|flashinfer_trtllm_routed|flashinfer_cutlass|flashinfer_mxfp4|flashinfer_cutedsl|cutlass
@ 0.5.10 0.5.11
fp4-gemm-backend str =auto |auto|cutlass|flashinfer_cudnn|flashinfer_cutlass|flashinfer_trtllm
  .fp4_gemm_runner_backend
hisparse-config str
moe-a2a-backend str =none |none|deepep|mooncake|nixl|mori|ascend_fuseep|flashinfer
speculative-draft-model-quantization str
  |awq|fp8|mxfp8|gptq|marlin|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|modelopt_fp8|modelopt_fp4|modelopt_mixed|petit_nvfp4|w8a8_int8|w8a8_fp8|moe_wna16|qoq|w4afp8|mxfp4|auto-round|compressed-tensors|modelslim|quark_int4fp8_moe|unquant
speculative-moe-a2a-backend str |none|deepep|mooncake|nixl|mori|ascend_fuseep|flashinfer
@ 0.5.10 0.5.12
disable-piecewise-cuda-graph switch
enable-nan-detection switch ~
enable-piecewise-cuda-graph switch =None . ~--enforce-piecewise-cuda-graph
enable-prefill-context-parallel switch
enforce-piecewise-cuda-graph switch
linear-attn-backend str =triton |triton|cutedsl|flashinfer
linear-attn-decode-backend str |triton|cutedsl|flashinfer
linear-attn-prefill-backend str |triton|cutedsl|flashinfer
mm-attention-backend str |sdpa|fa3|fa4|triton_attn|ascend_attn|aiter_attn|flashinfer_cudnn
prefill-cp-mode str =in-seq-split |in-seq-split
@ 0.5.10 0.5.15
fp8-gemm-backend str =auto
  |auto|deep_gemm|flashinfer_trtllm|flashinfer_cutlass|flashinfer_deepgemm|cutlass|triton|aiter
  .fp8_gemm_runner_backend
load-format str =auto
  |auto|pt|safetensors|npcache|dummy|sharded_state|gguf|bitsandbytes|mistral|layered|flash_rl|remote|remote_instance|fastsafetensors|private|runai_streamer
speculative-draft-load-format str
  |auto|pt|safetensors|npcache|dummy|sharded_state|gguf|bitsandbytes|mistral|layered|flash_rl|remote|remote_instance|fastsafetensors|private|runai_streamer
@ 0.5.10 0.5.18
stream-output switch . ~--incremental-streaming-output
@ 0.5.10 0.5.23
context-length size
default-priority-value int
disable-priority-preemption switch
elastic-ep-backend str |none|mooncake|nixl
enable-adaptive-dispatch-to-encoder switch
enable-aiter-allreduce-fusion switch
enable-elastic-expert-backup switch
enable-fused-moe-sum-all-reduce switch
enable-hisparse switch
enable-mfu-metrics switch
enable-mm-global-cache switch
enable-ssl-refresh switch
enable-streaming-session switch
enforce-disable-flashinfer-allreduce-fusion switch
engine-info-bootstrap-port int =6789
experts-shared-outer-loras,no-experts-shared-outer-loras switch =None
gc-threshold int+
incremental-streaming-output switch
max-prefill-tokens size =16384
max-total-tokens size
modelexpress-config str
pre-warm-nccl switch
remote-instance-weight-loader-backend str =nccl |transfer_engine|nccl|modelexpress
speculative-ngram-max-trie-depth int =18
ssl-ca-certs str
ssl-certfile str
ssl-keyfile str
ssl-keyfile-password str
stream-response-default-include-usage switch
use-ray switch
@ 0.5.11 0.5.11
moe-runner-backend str =auto
  |auto|deep_gemm|triton|triton_kernel|flashinfer_trtllm|flashinfer_trtllm_routed|flashinfer_cutlass|flashinfer_mxfp4|flashinfer_cutedsl|cutlass|aiter
quantization str
  |awq|fp8|mxfp8|gptq|marlin|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|modelopt_fp8|modelopt_fp4|modelopt_mixed|petit_nvfp4|w8a8_int8|w8a8_fp8|moe_wna16|qoq|w4afp8|mxfp4|auto-round|compressed-tensors|modelslim|quark_int4fp8_moe|unquant
reasoning-parser str
  |deepseek-r1|deepseek-v3|glm45|hunyuan|gpt-oss|kimi|kimi_k2|mimo|qwen3|qwen3-thinking|minimax|minimax-append-think|step3|step3p5|mistral|nemotron_3|interns1|gemma4
speculative-algorithm str |DFLASH|EAGLE|EAGLE3|NEXTN|STANDALONE|NGRAM
speculative-dflash-draft-window-size int
speculative-moe-runner-backend str
  |auto|deep_gemm|triton|triton_kernel|flashinfer_trtllm|flashinfer_trtllm_routed|flashinfer_cutlass|flashinfer_mxfp4|flashinfer_cutedsl|cutlass|aiter
tool-call-parser str
  |deepseekv3|deepseekv31|deepseekv32|glm|glm45|glm47|gpt-oss|kimi_k2|lfm2|llama3|mimo|mistral|pythonic|qwen|qwen25|qwen3_coder|step3|step3p5|minimax-m2|trinity|interns1|hermes|hunyuan|gigachat3|gemma4
@ 0.5.11 0.5.12
enable-breakable-cuda-graph switch
hicache-storage-backend str |file|mooncake|hf3fs|nixl|aibrix|dynamic|eic|simm
record-nolora-graph,no-record-nolora-graph switch =True
@ 0.5.11 0.5.15
elastic-ep-rejoin switch
grpc-http-sidecar-port int
@ 0.5.11 0.5.18
collect-tokens-histogram switch =None . ~
@ 0.5.11 0.5.20
radix-eviction-policy str =lru |lru|lfu|slru|priority
@ 0.5.11 0.5.22
speculative-skip-dp-mlp-sync switch
@ 0.5.11 0.5.23
batch-notify-size int =16
debug-cuda-graph switch
disaggregation-decode-enable-radix-cache switch
enable-dp-attention-local-control-broadcast switch
enable-http2 switch
enable-mis switch
enable-quant-communications switch
enforce-shared-experts-fusion switch
lora-strict-loading,no-lora-strict-loading switch
lora-use-virtual-experts switch
msprobe-dump-config str
speculative-adaptive switch
speculative-adaptive-config str
speculative-dflash-block-size int
speculative-ngram-external-corpus-max-tokens int =10000000
speculative-ngram-external-corpus-path str
speculative-ngram-external-sam-budget int =0
strip-thinking-cache switch
tokenizer-backend str =huggingface |huggingface|fastokens
weight-loader-prefetch-checkpoints switch
weight-loader-prefetch-num-threads int =4
@ 0.5.12 0.5.12
attention-backend str
  |triton|torch_native|flex_attention|nsa|dsv4|compressed|cutlass_mla|fa3|fa4|flashinfer|flashmla|trtllm_mla|tokenspeed_mla|trtllm_mha|dual_chunk_flash_attn|aiter|wave|intel_amx|ascend|intel_xpu
decode-attention-backend str
  |triton|torch_native|flex_attention|nsa|dsv4|compressed|cutlass_mla|fa3|fa4|flashinfer|flashmla|trtllm_mla|tokenspeed_mla|trtllm_mha|dual_chunk_flash_attn|aiter|wave|intel_amx|ascend|intel_xpu
fp4-gemm-backend str =auto |auto|cutlass|flashinfer_cudnn|flashinfer_cutedsl|flashinfer_cutlass|flashinfer_trtllm
  .fp4_gemm_runner_backend
lora-target-modules str+
  |q_proj|k_proj|v_proj|o_proj|q_a_proj|kv_a_proj_with_mqa|q_b_proj|kv_b_proj|gate_proj|up_proj|down_proj|qkv_proj|gate_up_proj|embed_tokens|lm_head|all
moe-runner-backend str =auto
  |auto|deep_gemm|triton|triton_kernel|flashinfer_trtllm|flashinfer_trtllm_routed|flashinfer_cutlass|flashinfer_mxfp4|flashinfer_cutedsl|cutlass|aiter|marlin
prefill-attention-backend str
  |triton|torch_native|flex_attention|nsa|dsv4|compressed|cutlass_mla|fa3|fa4|flashinfer|flashmla|trtllm_mla|tokenspeed_mla|trtllm_mha|dual_chunk_flash_attn|aiter|wave|intel_amx|ascend|intel_xpu
quantization str
  |awq|fp8|mxfp8|gptq|marlin|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|modelopt_fp8|modelopt_fp4|modelopt_mixed|petit_nvfp4|w8a8_int8|w8a8_fp8|moe_wna16|qoq|w4afp8|mxfp4|auto-round|compressed-tensors|modelslim|quark|quark_int4fp8_moe|mlx_q4|mlx_q8|unquant
reasoning-parser str
  |auto|deepseek-r1|deepseek-v3|deepseek-v4|glm45|hunyuan|gpt-oss|kimi|kimi_k2|mimo|poolside_v1|qwen3|qwen3-thinking|minimax|minimax-append-think|step3|step3p5|mistral|nemotron_3|interns1|gemma4
speculative-draft-model-quantization str
  |awq|fp8|mxfp8|gptq|marlin|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|modelopt_fp8|modelopt_fp4|modelopt_mixed|petit_nvfp4|w8a8_int8|w8a8_fp8|moe_wna16|qoq|w4afp8|mxfp4|auto-round|compressed-tensors|modelslim|quark|quark_int4fp8_moe|mlx_q4|mlx_q8|unquant
speculative-draft-window-size,speculative-dflash-draft-window-size int
speculative-moe-runner-backend str
  |auto|deep_gemm|triton|triton_kernel|flashinfer_trtllm|flashinfer_trtllm_routed|flashinfer_cutlass|flashinfer_mxfp4|flashinfer_cutedsl|cutlass|aiter|marlin
tool-call-parser str
  |auto|deepseekv3|deepseekv31|deepseekv32|deepseekv4|glm|glm45|glm47|gpt-oss|kimi_k2|lfm2|llama3|mimo|mistral|poolside_v1|pythonic|qwen|qwen25|qwen3_coder|step3|step3p5|minimax-m2|trinity|interns1|hermes|hunyuan|gigachat3|gemma4
@ 0.5.12 0.5.15
enable-deepep-waterfill switch
moe-a2a-backend str =none |none|deepep|mooncake|nixl|mori|ascend_fuseep|flashinfer|megamoe
speculative-moe-a2a-backend str |none|deepep|mooncake|nixl|mori|ascend_fuseep|flashinfer|megamoe
@ 0.5.12 0.5.23
detokenizer-worker-num int =1
enable-forward-pass-metrics switch
enable-return-indexer-topk switch
enable-strict-thinking switch
forward-pass-metrics-ipc-name str
forward-pass-metrics-worker-id str =``
hicache-storage-prefetch-policy str =timeout |best_effort|wait_complete|timeout
hisparse-config,hierarchical-sparse-attention-extra-config str
lora-drain-wait-threshold float =0.0
model-config-parser str =auto
prefill-delayer-max-delay-ms float
prefill-delayer-queue-min-ratio float
prefill-only-disable-kv-cache switch
speculative-algorithm str
weight-loader-drop-cache-after-load switch
@ 0.5.15 0.5.15
attention-backend str
  |triton|torch_native|flex_attention|dsa|nsa|dsv4|compressed|cutlass_mla|fa3|fa4|flashinfer|flashmla|trtllm_mla|cutedsl_mla|tokenspeed_mla|trtllm_mha|dual_chunk_flash_attn|aiter|wave|intel_amx|ascend|intel_xpu
bf16-gemm-backend str =auto |auto|cutedsl
decode-attention-backend str
  |triton|torch_native|flex_attention|dsa|nsa|dsv4|compressed|cutlass_mla|fa3|fa4|flashinfer|flashmla|trtllm_mla|cutedsl_mla|tokenspeed_mla|trtllm_mha|dual_chunk_flash_attn|aiter|wave|intel_amx|ascend|intel_xpu
dsa-decode-backend str |flashmla_sparse|flashmla_kv|flashmla_auto|fa3|tilelang|aiter|trtllm
dsa-prefill-backend str |flashmla_sparse|flashmla_kv|flashmla_auto|fa3|tilelang|aiter|trtllm
fp4-gemm-backend str =auto
  |auto|cutlass|flashinfer_cudnn|flashinfer_cutedsl|flashinfer_cutlass|flashinfer_trtllm|marlin
  .fp4_gemm_runner_backend
hicache-storage-backend str |file|mooncake|hf3fs|nixl|aibrix|dynamic|eic|simm|mori
linear-attn-backend str =triton |triton|cutedsl|flashinfer|flashkda
linear-attn-decode-backend str |triton|cutedsl|flashinfer|flashkda
linear-attn-prefill-backend str |triton|cutedsl|flashinfer|flashkda
lora-target-modules str+
  |q_proj|k_proj|v_proj|o_proj|q_a_proj|kv_a_proj_with_mqa|q_b_proj|kv_b_proj|wq_b|wk|weights_proj|gate_proj|up_proj|down_proj|qkv_proj|gate_up_proj|embed_tokens|lm_head|all
moe-runner-backend str =auto
  |auto|deep_gemm|triton|triton_kernel|flashinfer_trtllm|experimental_sgl_trtllm|flashinfer_trtllm_routed|flashinfer_cutlass|flashinfer_mxfp4|flashinfer_cutedsl|cutlass|aiter|marlin
nsa-decode-backend str = |flashmla_sparse|flashmla_kv|flashmla_auto|fa3|tilelang|aiter|trtllm . ~--dsa-decode-backend
nsa-prefill-backend str = |flashmla_sparse|flashmla_kv|flashmla_auto|fa3|tilelang|aiter|trtllm .
  ~--dsa-prefill-backend
optimistic-prefill-retries int =0
prefill-attention-backend str
  |triton|torch_native|flex_attention|dsa|nsa|dsv4|compressed|cutlass_mla|fa3|fa4|flashinfer|flashmla|trtllm_mla|cutedsl_mla|tokenspeed_mla|trtllm_mha|dual_chunk_flash_attn|aiter|wave|intel_amx|ascend|intel_xpu
quantization str
  |awq|fp8|mxfp8|gptq|marlin|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|modelopt_fp8|modelopt_fp4|nvfp4_online|modelopt_mixed|petit_nvfp4|w8a8_int8|w8a8_fp8|moe_wna16|qoq|w4afp8|mxfp4|auto-round|auto-round-int8|compressed-tensors|modelslim|mxfp_w4a8|quark|quark_int4fp8_moe|quark_mxfp4|mlx_q4|mlx_q8|unquant
reasoning-parser str
  |auto|apertus2509|deepseek-r1|deepseek-v3|deepseek-v4|glm45|hunyuan|gpt-oss|kimi|kimi_k2|mimo|poolside_v1|qwen3|qwen3-thinking|minimax|minimax-append-think|step3|step3p5|mistral|nemotron_3|interns1|gemma4|cohere_command4
speculative-draft-model-quantization str
  |awq|fp8|mxfp8|gptq|marlin|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|modelopt_fp8|modelopt_fp4|nvfp4_online|modelopt_mixed|petit_nvfp4|w8a8_int8|w8a8_fp8|moe_wna16|qoq|w4afp8|mxfp4|auto-round|auto-round-int8|compressed-tensors|modelslim|mxfp_w4a8|quark|quark_int4fp8_moe|quark_mxfp4|mlx_q4|mlx_q8|unquant
speculative-moe-runner-backend str
  |auto|deep_gemm|triton|triton_kernel|flashinfer_trtllm|experimental_sgl_trtllm|flashinfer_trtllm_routed|flashinfer_cutlass|flashinfer_mxfp4|flashinfer_cutedsl|cutlass|aiter|marlin
tool-call-parser str
  |auto|apertus2509|cohere_command4|deepseekv3|deepseekv31|deepseekv32|deepseekv4|glm|glm45|glm47|gpt-oss|kimi_k2|lfm2|llama3|mimo|minicpm5|mistral|poolside_v1|pythonic|qwen|qwen25|qwen3_coder|step3|step3p5|minimax-m2|trinity|interns1|hermes|hunyuan|gigachat3|gemma4
@ 0.5.15 0.5.18
cuda-graph-bs int+ . ~--cuda-graph-bs-decode
cuda-graph-max-bs int . ~--cuda-graph-max-bs-decode
disable-piecewise-cuda-graph switch =None . ~--cuda-graph-backend-prefill=disabled
dsa-prefill-cp-mode str =round-robin-split |in-seq-split|round-robin-split ~--cp-strategy
enable-breakable-cuda-graph switch =None . ~--cuda-graph-backend-prefill=breakable
enable-dsa-prefill-context-parallel switch ~--enable-prefill-cp
enable-nsa-prefill-context-parallel switch . ~--enable-prefill-cp
enable-prefill-context-parallel switch ~--enable-prefill-cp
enforce-piecewise-cuda-graph switch =None . ~--cuda-graph-backend-prefill=tc_piecewise
mamba-scheduler-strategy str =auto . ~--mamba-radix-cache-strategy
nsa-prefill-cp-mode str = |in-seq-split|round-robin-split . ~--cp-strategy
piecewise-cuda-graph-compiler str |eager|inductor . ~--cuda-graph-tc-compiler
piecewise-cuda-graph-max-tokens int . ~--cuda-graph-max-bs-prefill
piecewise-cuda-graph-tokens int+ . ~--cuda-graph-bs-prefill
prefill-cp-mode str =in-seq-split |in-seq-split ~--cp-strategy
sampling-backend str |flashinfer|pytorch|ascend|token_oracle
speculative-dflash-draft-window-size int . ~--speculative-draft-window-size
@ 0.5.15 0.5.20
cuda-graph-backend-decode str |full|breakable|tc_piecewise|disabled
cuda-graph-backend-prefill str |full|breakable|tc_piecewise|disabled
cuda-graph-tc-compiler str |eager|inductor
flashinfer-allreduce-fusion-backend str |auto|trtllm|mnnvl
@ 0.5.15 0.5.22
enable-tf32-matmul switch
@ 0.5.15 0.5.23
asr-max-buffer-seconds int =60
asr-max-concurrent-sessions int =32
attn-cp-size,attention-context-parallel-size int =1
cp-strategy str |zigzag|interleave
cuda-graph-bs-decode int+
cuda-graph-bs-prefill int+
cuda-graph-config json
cuda-graph-max-bs-decode int
cuda-graph-max-bs-prefill int
dcp-size,decode-context-parallel-size int =1
decoupled-spec-bind-endpoint str
decoupled-spec-connect-endpoints json
decoupled-spec-rank int
decoupled-spec-role str =null |null|verifier|drafter
deepep-dispatcher-output-dtype str =auto |auto|bf16|fp8|int8|nvfp4
deepep-mode str =auto |auto|normal|low_latency
disable-attn-tp-gather switch
disable-cuda-graph switch ~--cuda-graph-backend-{decode,prefill}=disabled
disable-decode-cuda-graph switch
disable-prefill-cuda-graph switch
disaggregation-decode-extra-slots int
disaggregation-transfer-backend str =mooncake |mooncake|nixl|ascend|fake|mori|mooncake_tcp
dp-size,data-parallel-size int =1
dsa-paged-mqa-logits-backend str =auto |auto|deepgemm|cutedsl|aiter
dsa-topk-backend str =sgl-kernel |sgl-kernel|torch|flashinfer
enable-deepseek-v4-fp4-indexer switch
enable-flashinfer-allreduce-fusion switch ~--flashinfer-allreduce-fusion-backend=auto
enable-int8-mamba-checkpoint switch
enable-linear-replayssm switch
enable-mamba-cache-stochastic-rounding switch
enable-page-major-kv-layout switch
enable-prefill-cp switch
enable-session-radix-cache switch
enable-unified-memory switch
encoder-bootstrap-port int =8997
encoder-register-urls str+ =[]
ep-dispatch-algorithm str |static|dynamic|fake|lp
ep-size,expert-parallel-size,ep int =1
expert-distribution-recorder-mode str |stat|stat_approx|per_pass|per_token
hicache-mem-layout str =page_first |layer_first|page_first|page_first_direct|page_first_kv_split|page_head
int8-mamba-ckpt-size int
kv-canary str =none |none|log|raise
kv-canary-real-data str =none |none|partial|all
kv-canary-sweep-interval int =0
linear-replayssm-cache-len int =16
lmcache-config-file str
load-snapshot-publish-interval int =15
mamba-cache-philox-rounds int =0
mamba-radix-cache-strategy str =auto |auto|no_buffer|extra_buffer|extra_buffer_lazy
min-free-slots-delay int
mm-attention-backend str |sdpa|fa3|fa4|triton_attn|ascend_attn|aiter_attn|flashinfer_cudnn|amx_attn|xpu_attn
moe-dp-size,moe-data-parallel-size int =1
pp-size,pipeline-parallel-size int =1
radix-cache-backend str
spec-trace-dir str
speculative-draft-window-size int
speculative-use-rejection-sampling switch
tp-size,tensor-parallel-size int =1
trace-modules str =request
.custom_sigquit_handler .stat_loggers .uses_mamba_radix_cache
@ 0.5.18 0.5.18
attention-backend str
  |triton|torch_native|flex_attention|dsa|nsa|dsv4|compressed|cutlass_mla|fa3|fa4|flashinfer|flashmla|trtllm_mla|cutedsl_mla|tokenspeed_mla|trtllm_mha|dual_chunk_flash_attn|hpc_ops|aiter|wave|intel_amx|ascend|intel_xpu
bf16-gemm-backend str =auto |auto|cutedsl|torch
dcp-comm-backend str =ag_rs |ag_rs|a2a|fi_a2a
decode-attention-backend str
  |triton|torch_native|flex_attention|dsa|nsa|dsv4|compressed|cutlass_mla|fa3|fa4|flashinfer|flashmla|trtllm_mla|cutedsl_mla|tokenspeed_mla|trtllm_mha|dual_chunk_flash_attn|hpc_ops|aiter|wave|intel_amx|ascend|intel_xpu
dsa-decode-backend str
  |flashmla_sparse|flashmla_sparse_q8|flashmla_kv|flashmla_auto|flashinfer_sparse_mla|fa3|tilelang|aiter|trtllm
dsa-prefill-backend str
  |flashmla_sparse|flashmla_sparse_q8|flashmla_kv|flashmla_auto|flashinfer_sparse_mla|fa3|tilelang|aiter|trtllm
enable-expert-distribution-metrics switch =None . ~~--expert-balancedness-report-mode
enable-gdn-replayssm-spec switch . ~--enable-linear-replayssm-spec
hicache-storage-backend str |file|mooncake|hf3fs|nixl|aibrix|dynamic|eic|simm|mori|shm
linear-attn-backend str =triton |triton|cutedsl|flashinfer|flashkda|nvidia_kda|ptx_kda|helion
linear-attn-decode-backend str |triton|cutedsl|flashinfer|flashkda|nvidia_kda|ptx_kda|helion
linear-attn-prefill-backend str |triton|cutedsl|flashinfer|flashkda|nvidia_kda|ptx_kda|helion
linear-attn-verify-backend str |triton|cutedsl|flashinfer|flashkda|nvidia_kda|ptx_kda|helion|nv_cutedsl
load-format str =auto
  |auto|pt|safetensors|npcache|dummy|sharded_state|presharded|gguf|bitsandbytes|mistral|layered|flash_rl|remote|remote_instance|fastsafetensors|private|runai_streamer
moe-a2a-backend str =none |none|deepep|mooncake|nixl|mori|ascend_fuseep|flashinfer|megamoe|pplx|ascend_tp
moe-runner-backend str =auto
  |auto|deep_gemm|triton|triton_kernel|flashinfer_trtllm|experimental_sgl_trtllm|flashinfer_trtllm_routed|flashinfer_cutlass|flashinfer_mxfp4|flashinfer_cutedsl|cutlass|aiter|marlin|humming|experimental_sgl_marlin|hpc_ops|megamoe
nsa-decode-backend str =
  |flashmla_sparse|flashmla_sparse_q8|flashmla_kv|flashmla_auto|flashinfer_sparse_mla|fa3|tilelang|aiter|trtllm .
  ~--dsa-decode-backend
nsa-prefill-backend str =
  |flashmla_sparse|flashmla_sparse_q8|flashmla_kv|flashmla_auto|flashinfer_sparse_mla|fa3|tilelang|aiter|trtllm .
  ~--dsa-prefill-backend
prefill-attention-backend str
  |triton|torch_native|flex_attention|dsa|nsa|dsv4|compressed|cutlass_mla|fa3|fa4|flashinfer|flashmla|trtllm_mla|cutedsl_mla|tokenspeed_mla|trtllm_mha|dual_chunk_flash_attn|hpc_ops|aiter|wave|intel_amx|ascend|intel_xpu
quantization str
  |awq|fp8|mxfp8|gptq|marlin|gptq_marlin|awq_marlin|bitsandbytes|gguf|modelopt|modelopt_fp8|modelopt_fp4|nvfp4_online|modelopt_mixed|petit_nvfp4|w8a8_int8|w8a8_fp8|moe_wna16|w4afp8|mxfp4|auto-round|auto-round-int8|compressed-tensors|modelslim|mxfp_w4a8|quark|quark_int4fp8_moe|quark_mxfp4|mlx_q4|mlx_q8|unquant|humming
reasoning-parser str
  |auto|apertus2509|deepseek-r1|deepseek-v3|deepseek-v4|glm45|hunyuan|gpt-oss|kimi|kimi_k2|kimi_k3|mimo|muse|poolside_v1|qwen3|qwen3-thinking|minimax|minimax-append-think|minimax-m3|step3|step3p5|mistral|nemotron_3|interns1|gemma4|inkling|cohere_command4
"""
